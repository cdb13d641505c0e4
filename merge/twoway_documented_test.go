package merge_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/merge"
)

// The page "Merge (2-way)" of kustomize
// (https://github.com/kubernetes-sigs/kustomize/blob/master/cmd/config/docs/api-conventions/merge2.md), sentence by
// sentence.
var mergeRules = map[string]twoWayCase{
	"scalars: if present only in the dest, it keeps its value": {source: `{}`, destination: `{a: 3}`, want: `{a: 3}`},
	"scalars: if present in the src, take the src value":       {source: `{a: 5}`, destination: `{}`, want: `{a: 5}`},
	"scalars: if null, clear it":                               {source: `{a: null}`, destination: `{a: 3}`, want: `{}`},
	"scalars: the example":                                     {source: `{a: 5}`, destination: `{a: 3}`, want: `{a: 5}`},

	"non-associative lists: if present only in the dest, it keeps its value": {source: `{}`, destination: `{a: [a, b, c]}`, want: `{a: [a, b, c]}`},
	"non-associative lists: if present in the src, take the src value":       {source: `{a: [1, 2, 3]}`, destination: `{}`, want: `{a: [1, 2, 3]}`},
	"non-associative lists: if null, clear it":                               {source: `{a: null}`, destination: `{a: [a, b, c]}`, want: `{}`},
	"non-associative lists: the example":                                     {source: `{a: [1, 2, 3]}`, destination: `{a: [a, b, c]}`, want: `{a: [1, 2, 3]}`},

	"map keys and fields: if present only in the dest, it keeps its value":     {source: `{m: {}}`, destination: `{m: {a: 1}}`, want: `{m: {a: 1}}`},
	"map keys and fields: if present only in the src, it is added to the dest": {source: `{m: {a: 1}}`, destination: `{m: {b: 2}}`, want: `{m: {a: 1, b: 2}}`},
	"map keys and fields: if the src value is null, the field is removed":      {source: `{m: {a: null}}`, destination: `{m: {a: 1, b: 2}}`, want: `{m: {b: 2}}`},
	"map keys and fields: in both, the value is recursively merged":            {source: `{m: {a: {b: 1}}}`, destination: `{m: {a: {b: 0, c: 2}}}`, want: `{m: {a: {b: 1, c: 2}}}`},
	"map keys and fields: the example":                                         {source: `{m: {key1: value1, key2: value2}}`, destination: `{m: {key2: value0, key3: value3}}`, want: `{m: {key1: value1, key2: value2, key3: value3}}`},

	"associative list elements: if present only in the dest, it keeps its value in the list": {source: containers(``), destination: containers(`{name: a}`), want: containers(`{name: a}`)},
	"associative list elements: if present only in the src, it is added to the dest list":    {source: containers(`{name: b}`), destination: containers(`{name: a}`), want: containers(`{name: a}, {name: b}`)},
	"associative list elements: in both, the value is recursively merged":                    {source: containers(`{name: a, image: new}`), destination: containers(`{name: a, image: old, stdin: true}`), want: containers(`{name: a, image: new, stdin: true}`)},

	"Associative Keys: a list is associative where all of its elements have the key": {infer: true, source: `{a: [{name: x, v: 1}]}`, destination: `{a: [{name: x, w: 1}, {name: y}]}`, want: `{a: [{name: x, v: 1, w: 1}, {name: y}]}`},
	"Associative Keys: a list is none where one of them lacks it":                    {infer: true, source: `{a: [{name: x}, {v: 1}]}`, destination: `{a: [{w: 1}]}`, want: `{a: [{name: x}, {v: 1}]}`},
	// The page has seven keys. Of kyaml v0.21.1 name alone is left; the others are in TestTwoWayInfersByOtherKeys.
	"Associative Keys: mountPath is none any more": {infer: true, source: `{a: [{mountPath: /x}]}`, destination: `{a: [{mountPath: /y}]}`, want: `{a: [{mountPath: /x}]}`},

	"Example": {
		source: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {spec: {containers: [
			{name: nginx, image: "nginx:1.7", command: [new_run.sh, arg1]}, {name: sidecar2, image: "sidecar2:v1"}]}}}}`,
		destination: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1, template: {spec: {containers: [
			{name: nginx, image: "nginx:1.6", command: [old_run.sh, arg0]}, {name: sidecar1, image: "sidecar1:v1"}]}}}}`,
		want: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {spec: {containers: [
			{name: nginx, image: "nginx:1.7", command: [new_run.sh, arg1]}, {name: sidecar1, image: "sidecar1:v1"}, {name: sidecar2, image: "sidecar2:v1"}]}}}}`,
	},
}

// The cases of kyaml's yaml/merge2/smpdirective_test.go, each over a destination that shows what the directive does. The
// first of them, "scalar", is about a patch that is no object: "a scalar over another at the root is source's".
var directives = map[string]twoWayCase{
	"list merge":   {source: finalizers(`one, two, three, {$patch: merge}`), destination: finalizers(`zero`), want: finalizers(`zero, one, two, three`)},
	"list replace": {source: finalizers(`one, two, three, {$patch: replace}`), destination: finalizers(`zero`), want: finalizers(`one, two, three`)},
	"list delete":  {source: finalizers(`one, two, three, {$patch: delete}`), destination: finalizers(`zero`), want: `{apiVersion: apps/v1, kind: Deployment, metadata: {}}`},
	"list default": {source: finalizers(`one, two, three`), destination: finalizers(`zero`), want: finalizers(`zero, one, two, three`)},
	"map replace":  {source: `{m: {metal: heavy, $patch: replace, veggie: carrot}}`, destination: `{m: {river: nile}}`, want: `{m: {metal: heavy, veggie: carrot}}`},
	"map delete":   {source: `{m: {metal: heavy, $patch: delete, veggie: carrot}}`, destination: `{m: {river: nile}}`, want: `{}`},
	"map merge":    {source: `{m: {metal: heavy, $patch: merge, veggie: carrot}}`, destination: `{m: {river: nile}}`, want: `{m: {metal: heavy, river: nile, veggie: carrot}}`},
	"map default":  {source: `{m: {metal: heavy, veggie: carrot}}`, destination: `{m: {river: nile}}`, want: `{m: {metal: heavy, river: nile, veggie: carrot}}`},

	"element merge":   {source: containers(`{name: a, image: i, $patch: merge}`), destination: containers(`{name: a, stdin: true}`), want: containers(`{name: a, image: i, stdin: true}`)},
	"element replace": {source: containers(`{name: a, image: i, $patch: replace}`), destination: containers(`{name: a, stdin: true}`), want: containers(`{name: a, image: i}`)},
	"element delete":  {source: containers(`{name: a, $patch: delete}`), destination: containers(`{name: a}, {name: b}`), want: containers(`{name: b}`)},
}

// The options of a merge in kyaml: MergeOptionsListAppend, which is the zero value, and MergeOptionsListPrepend.
var listOrders = map[string]twoWayCase{
	"append: destination's elements come first":                                  {source: containers(`{name: a}, {name: b, image: i}`), destination: containers(`{name: b}, {name: z}`), want: containers(`{name: b, image: i}, {name: z}, {name: a}`)},
	"prepend: source's elements come first":                                      {order: merge.SourceFirst, source: containers(`{name: a}, {name: b, image: i}`), destination: containers(`{name: z}, {name: b}`), want: containers(`{name: a}, {name: b, image: i}, {name: z}`)},
	"append: a set grows at its end":                                             {source: finalizers(`b, c`), destination: finalizers(`a, b`), want: finalizers(`a, b, c`)},
	"prepend: a set starts with source's":                                        {order: merge.SourceFirst, source: finalizers(`b, c`), destination: finalizers(`a, b`), want: finalizers(`b, c, a`)},
	"prepend, several keys: only new elements come first":                        {order: merge.SourceFirst, source: ports(`{containerPort: 9, protocol: TCP}, {containerPort: 8, protocol: TCP}`), destination: ports(`{containerPort: 7, protocol: TCP}, {containerPort: 8, protocol: TCP}`), want: ports(`{containerPort: 9, protocol: TCP}, {containerPort: 7, protocol: TCP}, {containerPort: 8, protocol: TCP}`)},
	"prepend: a list that is replaced has source's order as in either direction": {order: merge.SourceFirst, source: `{a: [2, 1]}`, destination: `{a: [1, 2, 3]}`, want: `{a: [2, 1]}`},
}

func TestTwoWayMergeRules(t *testing.T) { allOf(t, mergeRules) }
func TestTwoWayDirectives(t *testing.T) { allOf(t, directives) }
func TestTwoWayListOrders(t *testing.T) { allOf(t, listOrders) }

func allOf(t *testing.T, cases map[string]twoWayCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, c.run)
	}
}
