package merge_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ownership-handoff/handoff/merge"
)

// difference is a merge of which kyaml makes something else. What starts with "error:" is a part of an error.
type difference struct {
	heading                          string
	source, destination, kyaml, want string
	infer                            bool
	order                            merge.ListOrder
	// printed compares what kyaml prints rather than its nodes.
	printed bool
}

func TestTwoWayDiffersFromKyamlAsListed(t *testing.T) {
	const prepend = merge.SourceFirst
	for name, c := range map[string]difference{
		"append: what has keys is moved behind what has none":             {heading: lacksKey, source: containers(`{name: a}, {image: x}`), destination: deployment(``), kyaml: containers(`{image: x}, {name: a}`), want: `error: source: .spec.template.spec.containers[1]: the element lacks the key of its list: it has no "name"`},
		"prepend: what has keys is lost":                                  {heading: lacksKey, order: prepend, source: containers(`{name: a}, {image: x}`), destination: deployment(``), kyaml: containers(`{image: x}`), want: `error: source: .spec.template.spec.containers[1]: the element lacks the key`},
		"a key that is null or empty is none":                             {heading: lacksKey, source: containers(`{name: ""}`), destination: containers(`{name: a}`), kyaml: containers(`{name: ""}`), want: `error: source: .spec.template.spec.containers[0]: the element lacks the key`},
		"null and {} are dropped":                                         {heading: lacksKey, source: containers(`{name: a}`), destination: containers(`null, {}, {name: a}`), kyaml: containers(`{name: a}`), want: `error: destination: .spec.template.spec.containers[0]: the value is of the wrong kind: it is null`},
		"null and {} are dropped even where source says nothing":          {heading: lacksKey, source: deployment(`a: 1`), destination: deployment(`containers: [{name: a}, {}]`), kyaml: deployment(`a: 1, containers: [{name: a}]`), want: deployment(`a: 1, containers: [{name: a}, {}]`)},
		"a scalar among objects":                                          {heading: lacksKey, source: containers(`{name: a}`), destination: containers(`x, {name: a}`), kyaml: `error: wrong node kind`, want: `error: destination: .spec.template.spec.containers[0]: the value is of the wrong kind: it is a scalar`},
		"append: an object comes into a set, prepend: it is an error":     {heading: lacksKey, source: finalizers(`{x: 1}`), destination: finalizers(`a`), kyaml: finalizers(`a, {x: 1}`), want: `error: source: .metadata.finalizers[0]: the value is of the wrong kind: it is an object`},
		"null in a set is dropped":                                        {heading: lacksKey, source: finalizers(`null, b`), destination: finalizers(`a`), kyaml: finalizers(`a, b`), want: `error: source: .metadata.finalizers[0]: the value is of the wrong kind: it is null`},
		"source's element without a protocol is dropped":                  {heading: lacksOneKey, source: ports(`{containerPort: 80, hostPort: 1}`), destination: ports(`{containerPort: 80, protocol: TCP}`), kyaml: ports(`{containerPort: 80, protocol: TCP}`), want: ports(`{containerPort: 80, protocol: TCP, hostPort: 1}`)},
		"append: one port becomes two when source alone has a protocol":   {heading: lacksOneKey, source: ports(`{containerPort: 80, protocol: TCP}`), destination: ports(`{containerPort: 80, name: x}`), kyaml: ports(`{containerPort: 80, name: x}, {containerPort: 80, protocol: TCP}`), want: ports(`{containerPort: 80, name: x, protocol: TCP}`)},
		"prepend: source's element is dropped when it alone has one":      {heading: lacksOneKey, order: prepend, source: ports(`{containerPort: 80, protocol: TCP}`), destination: ports(`{containerPort: 80, name: x}`), kyaml: ports(`{containerPort: 80, name: x}`), want: ports(`{containerPort: 80, name: x, protocol: TCP}`)},
		"append: the second becomes the first, though source has neither": {heading: sharesKey, source: deployment(`a: 1`), destination: deployment(`containers: [{name: a, image: v}, {name: a, image: w}]`), kyaml: deployment(`a: 1, containers: [{name: a, image: v}, {name: a, image: v}]`), want: deployment(`a: 1, containers: [{name: a, image: v}, {name: a, image: w}]`)},
		"prepend: the first is lost, though source has neither":           {heading: sharesKey, order: prepend, source: deployment(`a: 1`), destination: deployment(`containers: [{name: a, image: v}, {name: a, image: w}]`), kyaml: deployment(`a: 1, containers: [{name: a, image: w}]`), want: deployment(`a: 1, containers: [{name: a, image: v}, {name: a, image: w}]`)},
		"source's second is dropped":                                      {heading: sharesKey, source: containers(`{name: a, image: v}, {name: a, args: [w]}`), destination: containers(`{name: a}`), kyaml: containers(`{name: a, image: v}`), want: containers(`{name: a, image: v, args: [w]}`)},
		"prepend: a set says it once, though source does not mention it":  {heading: sharesKey, order: prepend, source: `{apiVersion: apps/v1, kind: Deployment, a: 1}`, destination: finalizers(`a, a`), kyaml: `{apiVersion: apps/v1, kind: Deployment, a: 1, metadata: {finalizers: [a]}}`, want: `{apiVersion: apps/v1, kind: Deployment, a: 1, metadata: {finalizers: [a, a]}}`},
		"destination's element stays":                                     {heading: replacesElement, order: prepend, source: containers(`{name: a, image: y, $patch: replace}`), destination: containers(`{name: a, image: x, args: [x]}`), kyaml: containers(`{name: a, image: x, args: [x]}`), want: containers(`{name: a, image: y}`)},
		"append: the directive is left as an element":                     {heading: newDirective, source: containers(`{name: a}, {$patch: replace}`), destination: deployment(``), kyaml: containers(`{$patch: replace}, {name: a}`), want: containers(`{name: a}`)},
		"prepend: the directive is all that is left":                      {heading: newDirective, order: prepend, source: containers(`{name: a}, {$patch: merge}`), destination: deployment(``), kyaml: containers(`{$patch: merge}`), want: containers(`{name: a}`)},
		"what is to go comes in":                                          {heading: newDirective, source: containers(`{name: a}, {$patch: delete}`), destination: deployment(``), kyaml: containers(`{$patch: delete}, {name: a}`), want: deployment(``)},
		"behind an element's, the directive is lost":                      {heading: twoDirectives, source: containers(`{name: a, $patch: delete}, {$patch: replace}, {name: c}`), destination: containers(`{name: a}, {name: b}`), kyaml: containers(`{name: b}, {name: c}`), want: containers(`{name: c}`)},
		"an element that says the same is lost":                           {heading: twoDirectives, source: containers(`{$patch: replace}, {name: a, $patch: replace}, {name: b}`), destination: containers(`{name: c}`), kyaml: containers(`{name: b}`), want: containers(`{name: a}, {name: b}`)},
		"two that do not agree":                                           {heading: twoDirectives, source: containers(`{$patch: replace}, {$patch: merge}`), destination: containers(`{name: c}`), kyaml: containers(`{$patch: merge}`), want: `error: source: .spec.template.spec.containers: the directive is none of merge, replace and delete: one list has both`},
		"it comes in as a field":                                          {heading: otherDirective, source: `{a: {$patch: other, b: 1}}`, destination: `{}`, kyaml: `{a: {$patch: other, b: 1}}`, want: `error: source: .a: the directive is none of merge, replace and delete: $patch is other`},
		"two empty lists":                                                 {heading: emptyInferred, infer: true, source: `{b: 1}`, destination: `{a: []}`, kyaml: `error: no merge key found for field a`, want: `{a: [], b: 1}`},
		"an empty list and scalars":                                       {heading: emptyInferred, infer: true, source: `{a: [1]}`, destination: `{a: []}`, kyaml: `error: no merge key found for field a`, want: `{a: [1]}`},
		"append: destination's are kept as if they had one":               {heading: oneHasKey, infer: true, source: `{a: [{name: x}]}`, destination: `{a: [{y: 1}]}`, kyaml: `{a: [{y: 1}, {name: x}]}`, want: `error: source: .a: the element lacks the key of its list: what all elements have is "name", and "" in destination`},
		"prepend: source's are lost":                                      {heading: oneHasKey, infer: true, order: prepend, source: `{a: [{name: x}]}`, destination: `{a: [{y: 1}]}`, kyaml: `{a: [{y: 1}]}`, want: `error: source: .a: the element lacks the key`},
		"a number over a quoted string is printed as a string":            {heading: "YAML is printed with destination's quotes", printed: true, source: `{a: 5}`, destination: `{a: "5"}`, kyaml: `{a: "5"}`, want: `{a: 5}`},
		"nothing is no null":                                              {heading: "A null of destination is spelled as nothing", source: `{}`, destination: "a:\nb: 1\n", kyaml: `{b: 1}`, want: `{a: null, b: 1}`},
	} {
		t.Run(c.heading+"/"+name, c.run)
	}
}

func (c difference) run(t *testing.T) {
	list, err := os.ReadFile("../docs/merge-differences-twoway.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(list), "\n## "+c.heading+"\n") {
		t.Errorf("docs/merge-differences-twoway.md has no heading %q", c.heading)
	}
	source, destination := yaml.MustParse(c.source), yaml.MustParse(c.destination)
	kyaml, err := kyamlMerge(source, destination, c.infer, c.order)
	if c.printed {
		kyaml = decodeYAML(t, destination.MustString())
	}
	check(t, "kyaml", c.kyaml, kyaml, err)
	got, err := twoWayCase{source: c.source, destination: c.destination, infer: c.infer, order: c.order}.merge(t)
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
