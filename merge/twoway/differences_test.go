package twoway_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/merge/twoway"
	"github.com/ownership-handoff/handoff/test/golden"
)

// The differences that docs/merge-differences-twoway.md lists.
const (
	lacksKey        = "An element lacks its key"
	lacksOneKey     = "An element lacks one of several keys"
	sharesKey       = "Two elements of one list share their keys"
	replacesElement = "An element replaces, and the manifest comes first"
	newDirective    = "A new list contains a directive"
	twoDirectives   = "A list and one of its elements contain directives"
	otherDirective  = "A directive is unknown"
	emptyInferred   = "A list is empty and its key is inferred"
	oneHasKey       = "Only the manifest's elements have a key to infer"
)

// difference is a merge with a different result in kyaml. A result that starts with "error:" is a part of an error.
type difference struct {
	heading                     string
	manifest, live, kyaml, want string
	infer                       bool
	order                       twoway.ListOrder
	// printed compares what kyaml prints rather than its nodes.
	printed bool
}

func TestTwoWayDifferencesFromKyaml(t *testing.T) {
	const prepend = twoway.ManifestFirst
	for name, c := range map[string]difference{
		"append: elements with a key are moved after elements without one":     {heading: lacksKey, manifest: containers(`{name: a}, {image: x}`), live: deployment(``), kyaml: containers(`{image: x}, {name: a}`), want: `error: manifest: .spec.template.spec.containers[1]: the element lacks the key of its list: it has no "name"`},
		"prepend: elements with a key are lost":                                {heading: lacksKey, order: prepend, manifest: containers(`{name: a}, {image: x}`), live: deployment(``), kyaml: containers(`{image: x}`), want: `error: manifest: .spec.template.spec.containers[1]: the element lacks the key`},
		"a null or empty key counts as missing":                                {heading: lacksKey, manifest: containers(`{name: ""}`), live: containers(`{name: a}`), kyaml: containers(`{name: ""}`), want: `error: manifest: .spec.template.spec.containers[0]: the element lacks the key`},
		"null and {} are dropped":                                              {heading: lacksKey, manifest: containers(`{name: a}`), live: containers(`null, {}, {name: a}`), kyaml: containers(`{name: a}`), want: `error: live: .spec.template.spec.containers[0]: the value is of the wrong kind: it is null`},
		"null and {} are dropped even if the manifest lacks the list":          {heading: lacksKey, manifest: deployment(`a: 1`), live: deployment(`containers: [{name: a}, {}]`), kyaml: deployment(`a: 1, containers: [{name: a}]`), want: deployment(`a: 1, containers: [{name: a}, {}]`)},
		"a scalar among objects":                                               {heading: lacksKey, manifest: containers(`{name: a}`), live: containers(`x, {name: a}`), kyaml: `error: wrong node kind`, want: `error: live: .spec.template.spec.containers[0]: the value is of the wrong kind: it is a string`},
		"append: an object is added to a set, prepend: it is an error":         {heading: lacksKey, manifest: finalizers(`{x: 1}`), live: finalizers(`a`), kyaml: finalizers(`a, {x: 1}`), want: `error: manifest: .metadata.finalizers[0]: the value is of the wrong kind: it is an object`},
		"null in a set is dropped":                                             {heading: lacksKey, manifest: finalizers(`null, b`), live: finalizers(`a`), kyaml: finalizers(`a, b`), want: `error: manifest: .metadata.finalizers[0]: the value is of the wrong kind: it is null`},
		"the manifest's element without a protocol is dropped":                 {heading: lacksOneKey, manifest: ports(`{containerPort: 80, hostPort: 1}`), live: ports(`{containerPort: 80, protocol: TCP}`), kyaml: ports(`{containerPort: 80, protocol: TCP}`), want: ports(`{containerPort: 80, protocol: TCP, hostPort: 1}`)},
		"append: one port becomes two if only the manifest has a protocol":     {heading: lacksOneKey, manifest: ports(`{containerPort: 80, protocol: TCP}`), live: ports(`{containerPort: 80, name: x}`), kyaml: ports(`{containerPort: 80, name: x}, {containerPort: 80, protocol: TCP}`), want: ports(`{containerPort: 80, name: x, protocol: TCP}`)},
		"prepend: the manifest's element is dropped if only it has a protocol": {heading: lacksOneKey, order: prepend, manifest: ports(`{containerPort: 80, protocol: TCP}`), live: ports(`{containerPort: 80, name: x}`), kyaml: ports(`{containerPort: 80, name: x}`), want: ports(`{containerPort: 80, name: x, protocol: TCP}`)},
		"a deletion without the protocol deletes nothing": {
			heading: lacksOneKey, manifest: `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, $patch: delete}]}}`,
			live:  `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: TCP}, {port: 443, protocol: TCP}]}}`,
			kyaml: `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: TCP}, {port: 443, protocol: TCP}]}}`,
			want:  `{apiVersion: v1, kind: Service, spec: {ports: [{port: 443, protocol: TCP}]}}`,
		},
		"append: the second becomes the first, although the manifest has neither": {heading: sharesKey, manifest: deployment(`a: 1`), live: deployment(`containers: [{name: a, image: v}, {name: a, image: w}]`), kyaml: deployment(`a: 1, containers: [{name: a, image: v}, {name: a, image: v}]`), want: deployment(`a: 1, containers: [{name: a, image: v}, {name: a, image: w}]`)},
		"prepend: the first is lost, although the manifest has neither":           {heading: sharesKey, order: prepend, manifest: deployment(`a: 1`), live: deployment(`containers: [{name: a, image: v}, {name: a, image: w}]`), kyaml: deployment(`a: 1, containers: [{name: a, image: w}]`), want: deployment(`a: 1, containers: [{name: a, image: v}, {name: a, image: w}]`)},
		"the manifest's second element is dropped":                                {heading: sharesKey, manifest: containers(`{name: a, image: v}, {name: a, args: [w]}`), live: containers(`{name: a}`), kyaml: containers(`{name: a, image: v}`), want: containers(`{name: a, image: v, args: [w]}`)},
		"prepend: a set loses the duplicate, although the manifest lacks the set": {heading: sharesKey, order: prepend, manifest: `{apiVersion: apps/v1, kind: Deployment, a: 1}`, live: finalizers(`a, a`), kyaml: `{apiVersion: apps/v1, kind: Deployment, a: 1, metadata: {finalizers: [a]}}`, want: `{apiVersion: apps/v1, kind: Deployment, a: 1, metadata: {finalizers: [a, a]}}`},
		"live's element stays":                                       {heading: replacesElement, order: prepend, manifest: containers(`{name: a, image: y, $patch: replace}`), live: containers(`{name: a, image: x, args: [x]}`), kyaml: containers(`{name: a, image: x, args: [x]}`), want: containers(`{name: a, image: y}`)},
		"append: the directive stays as an element":                  {heading: newDirective, manifest: containers(`{name: a}, {$patch: replace}`), live: deployment(``), kyaml: containers(`{$patch: replace}, {name: a}`), want: containers(`{name: a}`)},
		"prepend: only the directive is left":                        {heading: newDirective, order: prepend, manifest: containers(`{name: a}, {$patch: merge}`), live: deployment(``), kyaml: containers(`{$patch: merge}`), want: containers(`{name: a}`)},
		"an element to delete is added":                              {heading: newDirective, manifest: containers(`{name: a}, {$patch: delete}`), live: deployment(``), kyaml: containers(`{$patch: delete}, {name: a}`), want: deployment(``)},
		"after an element's directive, the list's directive is lost": {heading: twoDirectives, manifest: containers(`{name: a, $patch: delete}, {$patch: replace}, {name: c}`), live: containers(`{name: a}, {name: b}`), kyaml: containers(`{name: b}, {name: c}`), want: containers(`{name: c}`)},
		"an element with the same directive is lost":                 {heading: twoDirectives, manifest: containers(`{$patch: replace}, {name: a, $patch: replace}, {name: b}`), live: containers(`{name: c}`), kyaml: containers(`{name: b}`), want: containers(`{name: a}, {name: b}`)},
		"two different directives":                                   {heading: twoDirectives, manifest: containers(`{$patch: replace}, {$patch: merge}`), live: containers(`{name: c}`), kyaml: containers(`{$patch: merge}`), want: `error: manifest: .spec.template.spec.containers: the directive is not merge, replace or delete: one list has both`},
		"it is added as a field":                                     {heading: otherDirective, manifest: `{a: {$patch: other, b: 1}}`, live: `{}`, kyaml: `{a: {$patch: other, b: 1}}`, want: `error: manifest: .a: the directive is not merge, replace or delete: $patch is other`},
		"two empty lists":                                            {heading: emptyInferred, infer: true, manifest: `{b: 1}`, live: `{a: []}`, kyaml: `error: no merge key found for field a`, want: `{a: [], b: 1}`},
		"an empty list and scalars":                                  {heading: emptyInferred, infer: true, manifest: `{a: [1]}`, live: `{a: []}`, kyaml: `error: no merge key found for field a`, want: `{a: [1]}`},
		"append: live's elements are kept as if they had a key":      {heading: oneHasKey, infer: true, manifest: `{a: [{name: x}]}`, live: `{a: [{y: 1}]}`, kyaml: `{a: [{y: 1}, {name: x}]}`, want: `error: manifest: .a: the element lacks the key of its list: the elements' common key is "name", and "" in live`},
		"prepend: the manifest's elements are lost":                  {heading: oneHasKey, infer: true, order: prepend, manifest: `{a: [{name: x}]}`, live: `{a: [{y: 1}]}`, kyaml: `{a: [{y: 1}]}`, want: `error: manifest: .a: the element lacks the key`},
		"a number over a quoted string is printed as a string":       {heading: "YAML is printed with live's quotes", printed: true, manifest: `{a: 5}`, live: `{a: "5"}`, kyaml: `{a: "5"}`, want: `{a: 5}`},
		"an empty value is not printed as null":                      {heading: "A null of live is written as nothing", manifest: `{}`, live: "a:\nb: 1\n", kyaml: `{b: 1}`, want: `{a: null, b: 1}`},
	} {
		t.Run(c.heading+"/"+name, c.run)
	}
}

func (c difference) run(t *testing.T) {
	if !strings.Contains(golden.Read(t, "../../docs/merge-differences-twoway.md"), "\n- **"+c.heading+".** ") {
		t.Errorf("docs/merge-differences-twoway.md does not list %q", c.heading)
	}
	manifest, live := yaml.MustParse(c.manifest), yaml.MustParse(c.live)
	kyaml, err := kyamlMerge(t, manifest, live, c.infer, c.order)
	if c.printed {
		kyaml = decodeYAML(t, live.MustString())
	}
	check(t, "kyaml", c.kyaml, kyaml, err)
	got, err := twoWayCase{manifest: c.manifest, live: c.live, infer: c.infer, order: c.order}.merge(t)
	check(t, "merge", c.want, got, err)
}

// check compares a result or an error with what is wanted.
func check(t *testing.T, who, want string, got any, err error) {
	t.Helper()
	part, isError := strings.CutPrefix(want, "error: ")
	switch {
	case isError && (err == nil || !strings.Contains(err.Error(), part)):
		t.Errorf("%s: got the error %v, want one with %q", who, err, part)
	case isError:
	case err != nil:
		t.Errorf("%s: %v", who, err)
	default:
		expect.Equal(t, who, decodeYAML(t, want), got)
	}
}
