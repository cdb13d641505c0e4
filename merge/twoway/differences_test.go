package twoway_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ownership-handoff/handoff/merge/twoway"
)

// difference is a merge of which kyaml makes something else. What starts with "error:" is a part of an error.
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
		"append: what has keys is moved behind what has none":                 {heading: lacksKey, manifest: containers(`{name: a}, {image: x}`), live: deployment(``), kyaml: containers(`{image: x}, {name: a}`), want: `error: manifest: .spec.template.spec.containers[1]: the element lacks the key of its list: it has no "name"`},
		"prepend: what has keys is lost":                                      {heading: lacksKey, order: prepend, manifest: containers(`{name: a}, {image: x}`), live: deployment(``), kyaml: containers(`{image: x}`), want: `error: manifest: .spec.template.spec.containers[1]: the element lacks the key`},
		"a key that is null or empty is none":                                 {heading: lacksKey, manifest: containers(`{name: ""}`), live: containers(`{name: a}`), kyaml: containers(`{name: ""}`), want: `error: manifest: .spec.template.spec.containers[0]: the element lacks the key`},
		"null and {} are dropped":                                             {heading: lacksKey, manifest: containers(`{name: a}`), live: containers(`null, {}, {name: a}`), kyaml: containers(`{name: a}`), want: `error: live: .spec.template.spec.containers[0]: the value is of the wrong kind: it is null`},
		"null and {} are dropped even where the manifest says nothing":        {heading: lacksKey, manifest: deployment(`a: 1`), live: deployment(`containers: [{name: a}, {}]`), kyaml: deployment(`a: 1, containers: [{name: a}]`), want: deployment(`a: 1, containers: [{name: a}, {}]`)},
		"a scalar among objects":                                              {heading: lacksKey, manifest: containers(`{name: a}`), live: containers(`x, {name: a}`), kyaml: `error: wrong node kind`, want: `error: live: .spec.template.spec.containers[0]: the value is of the wrong kind: it is a scalar`},
		"append: an object comes into a set, prepend: it is an error":         {heading: lacksKey, manifest: finalizers(`{x: 1}`), live: finalizers(`a`), kyaml: finalizers(`a, {x: 1}`), want: `error: manifest: .metadata.finalizers[0]: the value is of the wrong kind: it is an object`},
		"null in a set is dropped":                                            {heading: lacksKey, manifest: finalizers(`null, b`), live: finalizers(`a`), kyaml: finalizers(`a, b`), want: `error: manifest: .metadata.finalizers[0]: the value is of the wrong kind: it is null`},
		"the manifest's element without a protocol is dropped":                {heading: lacksOneKey, manifest: ports(`{containerPort: 80, hostPort: 1}`), live: ports(`{containerPort: 80, protocol: TCP}`), kyaml: ports(`{containerPort: 80, protocol: TCP}`), want: ports(`{containerPort: 80, protocol: TCP, hostPort: 1}`)},
		"append: one port becomes two when the manifest alone has a protocol": {heading: lacksOneKey, manifest: ports(`{containerPort: 80, protocol: TCP}`), live: ports(`{containerPort: 80, name: x}`), kyaml: ports(`{containerPort: 80, name: x}, {containerPort: 80, protocol: TCP}`), want: ports(`{containerPort: 80, name: x, protocol: TCP}`)},
		"prepend: the manifest's element is dropped when it alone has one":    {heading: lacksOneKey, order: prepend, manifest: ports(`{containerPort: 80, protocol: TCP}`), live: ports(`{containerPort: 80, name: x}`), kyaml: ports(`{containerPort: 80, name: x}`), want: ports(`{containerPort: 80, name: x, protocol: TCP}`)},
		"a deletion without the protocol deletes nothing": {
			heading: lacksOneKey, manifest: `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, $patch: delete}]}}`,
			live:  `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: TCP}, {port: 443, protocol: TCP}]}}`,
			kyaml: `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: TCP}, {port: 443, protocol: TCP}]}}`,
			want:  `{apiVersion: v1, kind: Service, spec: {ports: [{port: 443, protocol: TCP}]}}`,
		},
		"append: the second becomes the first, though manifest has neither": {heading: sharesKey, manifest: deployment(`a: 1`), live: deployment(`containers: [{name: a, image: v}, {name: a, image: w}]`), kyaml: deployment(`a: 1, containers: [{name: a, image: v}, {name: a, image: v}]`), want: deployment(`a: 1, containers: [{name: a, image: v}, {name: a, image: w}]`)},
		"prepend: the first is lost, though manifest has neither":           {heading: sharesKey, order: prepend, manifest: deployment(`a: 1`), live: deployment(`containers: [{name: a, image: v}, {name: a, image: w}]`), kyaml: deployment(`a: 1, containers: [{name: a, image: w}]`), want: deployment(`a: 1, containers: [{name: a, image: v}, {name: a, image: w}]`)},
		"the manifest's second is dropped":                                  {heading: sharesKey, manifest: containers(`{name: a, image: v}, {name: a, args: [w]}`), live: containers(`{name: a}`), kyaml: containers(`{name: a, image: v}`), want: containers(`{name: a, image: v, args: [w]}`)},
		"prepend: a set says it once, though manifest does not mention it":  {heading: sharesKey, order: prepend, manifest: `{apiVersion: apps/v1, kind: Deployment, a: 1}`, live: finalizers(`a, a`), kyaml: `{apiVersion: apps/v1, kind: Deployment, a: 1, metadata: {finalizers: [a]}}`, want: `{apiVersion: apps/v1, kind: Deployment, a: 1, metadata: {finalizers: [a, a]}}`},
		"live's element stays":                                              {heading: replacesElement, order: prepend, manifest: containers(`{name: a, image: y, $patch: replace}`), live: containers(`{name: a, image: x, args: [x]}`), kyaml: containers(`{name: a, image: x, args: [x]}`), want: containers(`{name: a, image: y}`)},
		"append: the directive is left as an element":                       {heading: newDirective, manifest: containers(`{name: a}, {$patch: replace}`), live: deployment(``), kyaml: containers(`{$patch: replace}, {name: a}`), want: containers(`{name: a}`)},
		"prepend: the directive is all that is left":                        {heading: newDirective, order: prepend, manifest: containers(`{name: a}, {$patch: merge}`), live: deployment(``), kyaml: containers(`{$patch: merge}`), want: containers(`{name: a}`)},
		"what is to go comes in":                                            {heading: newDirective, manifest: containers(`{name: a}, {$patch: delete}`), live: deployment(``), kyaml: containers(`{$patch: delete}, {name: a}`), want: deployment(``)},
		"behind an element's, the directive is lost":                        {heading: twoDirectives, manifest: containers(`{name: a, $patch: delete}, {$patch: replace}, {name: c}`), live: containers(`{name: a}, {name: b}`), kyaml: containers(`{name: b}, {name: c}`), want: containers(`{name: c}`)},
		"an element that says the same is lost":                             {heading: twoDirectives, manifest: containers(`{$patch: replace}, {name: a, $patch: replace}, {name: b}`), live: containers(`{name: c}`), kyaml: containers(`{name: b}`), want: containers(`{name: a}, {name: b}`)},
		"two that do not agree":                                             {heading: twoDirectives, manifest: containers(`{$patch: replace}, {$patch: merge}`), live: containers(`{name: c}`), kyaml: containers(`{$patch: merge}`), want: `error: manifest: .spec.template.spec.containers: the directive is not merge, replace or delete: one list has both`},
		"it comes in as a field":                                            {heading: otherDirective, manifest: `{a: {$patch: other, b: 1}}`, live: `{}`, kyaml: `{a: {$patch: other, b: 1}}`, want: `error: manifest: .a: the directive is not merge, replace or delete: $patch is other`},
		"two empty lists":                                                   {heading: emptyInferred, infer: true, manifest: `{b: 1}`, live: `{a: []}`, kyaml: `error: no merge key found for field a`, want: `{a: [], b: 1}`},
		"an empty list and scalars":                                         {heading: emptyInferred, infer: true, manifest: `{a: [1]}`, live: `{a: []}`, kyaml: `error: no merge key found for field a`, want: `{a: [1]}`},
		"append: live's are kept as if they had one":                        {heading: oneHasKey, infer: true, manifest: `{a: [{name: x}]}`, live: `{a: [{y: 1}]}`, kyaml: `{a: [{y: 1}, {name: x}]}`, want: `error: manifest: .a: the element lacks the key of its list: the elements' common key is "name", and "" in live`},
		"prepend: the manifest's are lost":                                  {heading: oneHasKey, infer: true, order: prepend, manifest: `{a: [{name: x}]}`, live: `{a: [{y: 1}]}`, kyaml: `{a: [{y: 1}]}`, want: `error: manifest: .a: the element lacks the key`},
		"a number over a quoted string is printed as a string":              {heading: "YAML is printed with live's quotes", printed: true, manifest: `{a: 5}`, live: `{a: "5"}`, kyaml: `{a: "5"}`, want: `{a: 5}`},
		"nothing is no null":                                                {heading: "A null of live is written as nothing", manifest: `{}`, live: "a:\nb: 1\n", kyaml: `{b: 1}`, want: `{a: null, b: 1}`},
	} {
		t.Run(c.heading+"/"+name, c.run)
	}
}

func (c difference) run(t *testing.T) {
	list, err := os.ReadFile("../../docs/merge-differences-twoway.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(list), "\n## "+c.heading+"\n") {
		t.Errorf("docs/merge-differences-twoway.md has no heading %q", c.heading)
	}
	manifest, live := yaml.MustParse(c.manifest), yaml.MustParse(c.live)
	kyaml, err := kyamlMerge(manifest, live, c.infer, c.order)
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
		if diff := cmp.Diff(decodeYAML(t, want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who, diff)
		}
	}
}

func containers(list string) string { return deployment(`containers: [` + list + `]`) }

func finalizers(list string) string {
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {finalizers: [` + list + `]}}`
}
