package merge_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/merge"
)

// The cases of kyaml's yaml/merge2/element_test.go. A schema in a comment is a Schema here.
func TestTwoWayOfElements(t *testing.T) {
	const custom = `apiVersion: custom, kind: Deployment`
	const annotated = "apiVersion: custom\nkind: Deployment\ncontainers: # {\"items\":{\"$ref\": \"#/definitions/io.k8s.api.core.v1.Container\"},\"type\":\"array\",\"x-kubernetes-patch-merge-key\":\"name\",\"x-kubernetes-patch-strategy\": \"merge\"}\n"
	const primitive = "apiVersion: apps/v1\nkind: Deployment\nitems: # {\"type\":\"array\", \"x-kubernetes-patch-strategy\": \"merge\"}\n"
	one, both := `{name: foo, image: "foo:v1"}`, `{name: foo, image: "foo:v1"}, {name: bar, image: "bar:v1", command: [run2.sh]}`
	for name, c := range map[string]twoWayCase{
		"merge Element -- keep field in dest: the command stays":           {source: deployment(`containers: [` + one + `]`), destination: deployment(`containers: [{name: foo, image: "foo:v0", command: [run.sh]}]`), want: deployment(`containers: [{name: foo, image: "foo:v1", command: [run.sh]}]`)},
		"merge Element -- add field to dest: the command is added":         {source: deployment(`containers: [{name: foo, image: "foo:v1", command: [run.sh]}]`), destination: deployment(`containers: [{name: foo, image: "foo:v0"}]`), want: deployment(`containers: [{name: foo, image: "foo:v1", command: [run.sh]}]`)},
		"merge Element -- add list, empty in dest: it is filled":           {source: deployment(`containers: [` + both + `]`), destination: deployment(`containers: []`), want: deployment(`containers: [` + both + `]`)},
		"merge Element -- add list, missing from dest: it is added":        {source: deployment(`containers: [` + both + `]`), destination: `{apiVersion: apps/v1, kind: Deployment}`, want: deployment(`containers: [` + both + `]`)},
		"merge Element -- add Element first: append puts it behind":        {source: deployment(`containers: [{name: bar}, ` + one + `]`), destination: deployment(`containers: [{name: foo, image: "foo:v0"}]`), want: deployment(`containers: [` + one + `, {name: bar}]`)},
		"merge Element -- add Element second: append puts it behind":       {source: deployment(`containers: [` + both + `]`), destination: deployment(`containers: [{name: foo, image: "foo:v0"}]`), want: deployment(`containers: [` + both + `]`)},
		"merge Element -- add Element third: prepend keeps source's order": {order: merge.SourceFirst, source: deployment(`containers: [{name: bar}, ` + one + `]`), destination: deployment(`containers: [{name: foo, image: "foo:v0"}]`), want: deployment(`containers: [{name: bar}, ` + one + `]`)},
		"merge Element -- add Element fourth: in either direction":         {order: merge.SourceFirst, source: deployment(`containers: [` + both + `]`), destination: deployment(`containers: [{name: foo, image: "foo:v0"}]`), want: deployment(`containers: [` + both + `]`)},
		"keep list -- list missing from src: it stays":                     {source: `{apiVersion: apps/v1, kind: Deployment}`, destination: deployment(`containers: [` + both + `]`), want: deployment(`containers: [` + both + `]`)},
		"keep Element -- element missing in src: it stays":                 {source: deployment(`containers: [` + one + `]`), destination: deployment(`containers: [{name: foo, image: "foo:v0"}, {name: bar, image: "bar:v1", command: [run2.sh]}]`), want: deployment(`containers: [` + both + `]`)},
		"keep element -- empty list in src: a keyed list stays":            {source: deployment(`containers: []`), destination: deployment(`containers: [` + both + `]`), want: deployment(`containers: [` + both + `]`)},
		"remove Element -- null in src: the list goes":                     {source: deployment(`containers: null`), destination: deployment(`containers: [` + both + `]`), want: deployment(``)},
		"infer merge keys merge': by name":                                 {infer: true, source: `{` + custom + `, containers: [{name: foo, command: [run2.sh]}]}`, destination: `{` + custom + `, containers: [{name: foo, image: "foo:bar"}]}`, want: `{` + custom + `, containers: [{name: foo, image: "foo:bar", command: [run2.sh]}]}`},
		"no infer merge keys merge using schema: by the schema's key":      {source: deployment(`containers: [{name: foo, command: [run2.sh]}]`), destination: deployment(`containers: [{name: foo, image: "foo:bar"}]`), want: deployment(`containers: [{name: foo, image: "foo:bar", command: [run2.sh]}]`)},
		"no infer merge keys merge using explicit schema as line comment'": {schema: within("containers", merge.Strategy{List: merge.MergeByKey, Keys: []string{"name"}}), source: `{` + custom + `, containers: [{name: foo, command: [run2.sh]}]}`, destination: annotated + "- {name: foo, image: \"foo:bar\"}\n", want: `{` + custom + `, containers: [{name: foo, image: "foo:bar", command: [run2.sh]}]}`},
		"merge_primitive_finalizers: the new one comes last":               {source: finalizers(`a, b`), destination: finalizers(`b, c`), want: finalizers(`b, c, a`)},
		"merge_primitive_items: the new one comes last":                    {schema: within("items", merge.Strategy{List: merge.MergeSet}), source: primitive + "- a\n- b\n", destination: `{apiVersion: apps/v1, kind: Deployment, items: [b, c]}`, want: `{apiVersion: apps/v1, kind: Deployment, items: [b, c, a]}`},

		"prepend: the members of a set come in source's order first":   {order: merge.SourceFirst, source: finalizers(`a, b`), destination: finalizers(`c, b`), want: finalizers(`a, b, c`)},
		"a set is replaced where it says so":                           {source: finalizers(`a, $patch: replace`), destination: finalizers(`b, c`), want: finalizers(`a`)},
		"a set goes where it says so":                                  {source: finalizers(`a, $patch: delete`), destination: finalizers(`b, c`), want: `{apiVersion: apps/v1, kind: Deployment, metadata: {}}`},
		"an empty set adds nothing":                                    {source: finalizers(``), destination: finalizers(`b, c`), want: finalizers(`b, c`)},
		"a set that is new stands as it is":                            {source: finalizers(`a, b`), destination: `{apiVersion: apps/v1, kind: Deployment}`, want: finalizers(`a, b`)},
		"a list without a schema is replaced unless keys are inferred": {source: `{a: [{name: x, b: 1}]}`, destination: `{a: [{name: x, c: 1}]}`, want: `{a: [{name: x, b: 1}]}`},
		"inferred: a list whose elements have no name is replaced":     {infer: true, source: `{a: [{b: 1}]}`, destination: `{a: [{c: 1}]}`, want: `{a: [{b: 1}]}`},
		"inferred: an empty list beside one with names merges":         {infer: true, source: `{a: []}`, destination: `{a: [{name: x}]}`, want: `{a: [{name: x}]}`},
		"inferred: an object of a known kind within has its schema":    {source: `{wrapped: ` + deployment(`containers: [{name: a, image: i}]`) + `}`, destination: `{wrapped: ` + deployment(`containers: [{name: a, args: [x]}]`) + `}`, want: `{wrapped: ` + deployment(`containers: [{name: a, args: [x], image: i}]`) + `}`},
		"inferred: a directive means a list of names":                  {infer: true, source: `{a: [{name: x}, {$patch: replace}]}`, destination: `{a: [{name: y}]}`, want: `{a: [{name: x}]}`},
	} {
		t.Run(name, c.run)
	}
}

// within returns the schema of objects of which one field is known.
func within(field string, strategy merge.Strategy) merge.Schema {
	return &known{Inferred: merge.Inferred{ReplaceLists: true}, field: field, strategy: strategy}
}

type known struct {
	merge.Inferred
	field    string
	strategy merge.Strategy
}

func (k *known) Field(name string) merge.Schema {
	if name == k.field {
		return &listOf{Schema: &k.Inferred, strategy: k.strategy}
	}
	return &k.Inferred
}

type listOf struct {
	merge.Schema
	strategy merge.Strategy
}

func (l *listOf) Strategy() merge.Strategy { return l.strategy }
