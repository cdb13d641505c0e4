package twoway_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

// The cases of kyaml's yaml/merge2/element_test.go. A schema in a comment is a Schema here.
func TestTwoWayOfElements(t *testing.T) {
	const custom = `apiVersion: custom, kind: Deployment`
	const annotated = "apiVersion: custom\nkind: Deployment\ncontainers: # {\"items\":{\"$ref\": \"#/definitions/io.k8s.api.core.v1.Container\"},\"type\":\"array\",\"x-kubernetes-patch-merge-key\":\"name\",\"x-kubernetes-patch-strategy\": \"merge\"}\n"
	const primitive = "apiVersion: apps/v1\nkind: Deployment\nitems: # {\"type\":\"array\", \"x-kubernetes-patch-strategy\": \"merge\"}\n"
	one, both := `{name: foo, image: "foo:v1"}`, `{name: foo, image: "foo:v1"}, {name: bar, image: "bar:v1", command: [run2.sh]}`
	for name, c := range map[string]twoWayCase{
		"merge Element -- keep field in dest: the command stays":                 {manifest: deployment(`containers: [` + one + `]`), live: deployment(`containers: [{name: foo, image: "foo:v0", command: [run.sh]}]`), want: deployment(`containers: [{name: foo, image: "foo:v1", command: [run.sh]}]`)},
		"merge Element -- add field to dest: the command is added":               {manifest: deployment(`containers: [{name: foo, image: "foo:v1", command: [run.sh]}]`), live: deployment(`containers: [{name: foo, image: "foo:v0"}]`), want: deployment(`containers: [{name: foo, image: "foo:v1", command: [run.sh]}]`)},
		"merge Element -- add list, empty in dest: it is filled":                 {manifest: deployment(`containers: [` + both + `]`), live: deployment(`containers: []`), want: deployment(`containers: [` + both + `]`)},
		"merge Element -- add list, missing from dest: it is added":              {manifest: deployment(`containers: [` + both + `]`), live: `{apiVersion: apps/v1, kind: Deployment}`, want: deployment(`containers: [` + both + `]`)},
		"merge Element -- add Element first: append puts it last":                {manifest: deployment(`containers: [{name: bar}, ` + one + `]`), live: deployment(`containers: [{name: foo, image: "foo:v0"}]`), want: deployment(`containers: [` + one + `, {name: bar}]`)},
		"merge Element -- add Element second: append puts it last":               {manifest: deployment(`containers: [` + both + `]`), live: deployment(`containers: [{name: foo, image: "foo:v0"}]`), want: deployment(`containers: [` + both + `]`)},
		"merge Element -- add Element third: prepend keeps the manifest's order": {order: twoway.ManifestFirst, manifest: deployment(`containers: [{name: bar}, ` + one + `]`), live: deployment(`containers: [{name: foo, image: "foo:v0"}]`), want: deployment(`containers: [{name: bar}, ` + one + `]`)},
		"merge Element -- add Element fourth: in either direction":               {order: twoway.ManifestFirst, manifest: deployment(`containers: [` + both + `]`), live: deployment(`containers: [{name: foo, image: "foo:v0"}]`), want: deployment(`containers: [` + both + `]`)},
		"keep list -- list missing from src: it stays":                           {manifest: `{apiVersion: apps/v1, kind: Deployment}`, live: deployment(`containers: [` + both + `]`), want: deployment(`containers: [` + both + `]`)},
		"keep Element -- element missing in src: it stays":                       {manifest: deployment(`containers: [` + one + `]`), live: deployment(`containers: [{name: foo, image: "foo:v0"}, {name: bar, image: "bar:v1", command: [run2.sh]}]`), want: deployment(`containers: [` + both + `]`)},
		"keep element -- empty list in src: a keyed list stays":                  {manifest: deployment(`containers: []`), live: deployment(`containers: [` + both + `]`), want: deployment(`containers: [` + both + `]`)},
		"remove Element -- null in src: the list is removed":                     {manifest: deployment(`containers: null`), live: deployment(`containers: [` + both + `]`), want: deployment(``)},
		"infer merge keys merge': by name":                                       {infer: true, manifest: `{` + custom + `, containers: [{name: foo, command: [run2.sh]}]}`, live: `{` + custom + `, containers: [{name: foo, image: "foo:bar"}]}`, want: `{` + custom + `, containers: [{name: foo, image: "foo:bar", command: [run2.sh]}]}`},
		"no infer merge keys merge using schema: by the schema's key":            {manifest: deployment(`containers: [{name: foo, command: [run2.sh]}]`), live: deployment(`containers: [{name: foo, image: "foo:bar"}]`), want: deployment(`containers: [{name: foo, image: "foo:bar", command: [run2.sh]}]`)},
		"no infer merge keys merge using explicit schema as line comment'":       {place: within("containers", schema.Strategy{List: schema.MergeByKey, Keys: []string{"name"}}), manifest: `{` + custom + `, containers: [{name: foo, command: [run2.sh]}]}`, live: annotated + "- {name: foo, image: \"foo:bar\"}\n", want: `{` + custom + `, containers: [{name: foo, image: "foo:bar", command: [run2.sh]}]}`},
		"merge_primitive_finalizers: the new value comes last":                   {manifest: finalizers(`a, b`), live: finalizers(`b, c`), want: finalizers(`b, c, a`)},
		"merge_primitive_items: the new value comes last":                        {place: within("items", schema.Strategy{List: schema.MergeSet}), manifest: primitive + "- a\n- b\n", live: `{apiVersion: apps/v1, kind: Deployment, items: [b, c]}`, want: `{apiVersion: apps/v1, kind: Deployment, items: [b, c, a]}`},

		"prepend: the members of a set come in the manifest's order first": {order: twoway.ManifestFirst, manifest: finalizers(`a, b`), live: finalizers(`c, b`), want: finalizers(`a, b, c`)},
		"a set with a replace directive is replaced":                       {manifest: finalizers(`a, $patch: replace`), live: finalizers(`b, c`), want: finalizers(`a`)},
		"a set with a delete directive is deleted":                         {manifest: finalizers(`a, $patch: delete`), live: finalizers(`b, c`), want: `{apiVersion: apps/v1, kind: Deployment, metadata: {}}`},
		"an empty set adds nothing":                                        {manifest: finalizers(``), live: finalizers(`b, c`), want: finalizers(`b, c`)},
		"a new set is added as it is":                                      {manifest: finalizers(`a, b`), live: `{apiVersion: apps/v1, kind: Deployment}`, want: finalizers(`a, b`)},
		"a list without a schema is replaced unless keys are inferred":     {manifest: `{a: [{name: x, b: 1}]}`, live: `{a: [{name: x, c: 1}]}`, want: `{a: [{name: x, b: 1}]}`},
		"inferred: a list whose elements have no name is replaced":         {infer: true, manifest: `{a: [{b: 1}]}`, live: `{a: [{c: 1}]}`, want: `{a: [{b: 1}]}`},
		"inferred: an empty list merges with one that has names":           {infer: true, manifest: `{a: []}`, live: `{a: [{name: x}]}`, want: `{a: [{name: x}]}`},
		"inferred: an object of a known kind within has its schema":        {manifest: `{wrapped: ` + deployment(`containers: [{name: a, image: i}]`) + `}`, live: `{wrapped: ` + deployment(`containers: [{name: a, args: [x]}]`) + `}`, want: `{wrapped: ` + deployment(`containers: [{name: a, args: [x], image: i}]`) + `}`},
		"inferred: a directive makes the list one with names":              {infer: true, manifest: `{a: [{name: x}, {$patch: replace}]}`, live: `{a: [{name: y}]}`, want: `{a: [{name: x}]}`},
	} {
		t.Run(name, c.run)
	}
}

// within returns the schema of objects with one known field.
func within(field string, strategy schema.Strategy) schema.Schema {
	return &known{Inferred: twoway.Inferred{ReplaceLists: true}, field: field, strategy: strategy}
}

type known struct {
	twoway.Inferred
	field    string
	strategy schema.Strategy
}

func (k *known) Field(name string) schema.Schema {
	if name == k.field {
		return &listOf{Schema: &k.Inferred, strategy: k.strategy}
	}
	return &k.Inferred
}

type listOf struct {
	schema.Schema
	strategy schema.Strategy
}

func (l *listOf) Strategy() schema.Strategy { return l.strategy }
