package twoway_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

// Cases that kyaml's own tables lack: see TestUpstreamTablesOfMerge2.
func TestTwoWayOfElements(t *testing.T) {
	for name, c := range map[string]twoWayCase{
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
