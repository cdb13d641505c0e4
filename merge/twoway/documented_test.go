package twoway_test

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ownership-handoff/handoff/merge/twoway"
)

// The page "Merge (2-way)" of kustomize
// (https://github.com/kubernetes-sigs/kustomize/blob/master/cmd/config/docs/api-conventions/merge2.md), sentence by
// sentence.
var mergeRules = map[string]twoWayCase{
	"scalars: if present only in the dest, it keeps its value": {manifest: `{}`, live: `{a: 3}`, want: `{a: 3}`},
	"scalars: if present in the src, take the src value":       {manifest: `{a: 5}`, live: `{}`, want: `{a: 5}`},
	"scalars: if null, clear it":                               {manifest: `{a: null}`, live: `{a: 3}`, want: `{}`},
	"scalars: the example":                                     {manifest: `{a: 5}`, live: `{a: 3}`, want: `{a: 5}`},

	"non-associative lists: if present only in the dest, it keeps its value": {manifest: `{}`, live: `{a: [a, b, c]}`, want: `{a: [a, b, c]}`},
	"non-associative lists: if present in the src, take the src value":       {manifest: `{a: [1, 2, 3]}`, live: `{}`, want: `{a: [1, 2, 3]}`},
	"non-associative lists: if null, clear it":                               {manifest: `{a: null}`, live: `{a: [a, b, c]}`, want: `{}`},
	"non-associative lists: the example":                                     {manifest: `{a: [1, 2, 3]}`, live: `{a: [a, b, c]}`, want: `{a: [1, 2, 3]}`},

	"map keys and fields: if present only in the dest, it keeps its value":     {manifest: `{m: {}}`, live: `{m: {a: 1}}`, want: `{m: {a: 1}}`},
	"map keys and fields: if present only in the src, it is added to the dest": {manifest: `{m: {a: 1}}`, live: `{m: {b: 2}}`, want: `{m: {a: 1, b: 2}}`},
	"map keys and fields: if the src value is null, the field is removed":      {manifest: `{m: {a: null}}`, live: `{m: {a: 1, b: 2}}`, want: `{m: {b: 2}}`},
	"map keys and fields: in both, the value is recursively merged":            {manifest: `{m: {a: {b: 1}}}`, live: `{m: {a: {b: 0, c: 2}}}`, want: `{m: {a: {b: 1, c: 2}}}`},
	"map keys and fields: the example":                                         {manifest: `{m: {key1: value1, key2: value2}}`, live: `{m: {key2: value0, key3: value3}}`, want: `{m: {key1: value1, key2: value2, key3: value3}}`},

	"associative list elements: if present only in the dest, it keeps its value in the list": {manifest: containers(``), live: containers(`{name: a}`), want: containers(`{name: a}`)},
	"associative list elements: if present only in the src, it is added to the dest list":    {manifest: containers(`{name: b}`), live: containers(`{name: a}`), want: containers(`{name: a}, {name: b}`)},
	"associative list elements: in both, the value is recursively merged":                    {manifest: containers(`{name: a, image: new}`), live: containers(`{name: a, image: old, stdin: true}`), want: containers(`{name: a, image: new, stdin: true}`)},

	"Associative Keys: a list is associative if all of its elements have the key": {infer: true, manifest: `{a: [{name: x, v: 1}]}`, live: `{a: [{name: x, w: 1}, {name: y}]}`, want: `{a: [{name: x, v: 1, w: 1}, {name: y}]}`},
	"Associative Keys: a list is not associative if an element lacks the key":     {infer: true, manifest: `{a: [{name: x}, {v: 1}]}`, live: `{a: [{w: 1}]}`, want: `{a: [{name: x}, {v: 1}]}`},
	// The page has seven keys. kyaml v0.21.1 has only name; the others are in formerKeys.
	"Associative Keys: mountPath is no longer a key": {infer: true, manifest: `{a: [{mountPath: /x}]}`, live: `{a: [{mountPath: /y}]}`, want: `{a: [{mountPath: /x}]}`},

	"Example": {
		manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {spec: {containers: [
			{name: nginx, image: "nginx:1.7", command: [new_run.sh, arg1]}, {name: sidecar2, image: "sidecar2:v1"}]}}}}`,
		live: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1, template: {spec: {containers: [
			{name: nginx, image: "nginx:1.6", command: [old_run.sh, arg0]}, {name: sidecar1, image: "sidecar1:v1"}]}}}}`,
		want: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {spec: {containers: [
			{name: nginx, image: "nginx:1.7", command: [new_run.sh, arg1]}, {name: sidecar1, image: "sidecar1:v1"}, {name: sidecar2, image: "sidecar2:v1"}]}}}}`,
	},
}

// The cases of kyaml's yaml/merge2/smpdirective_test.go, each with a live object that shows the effect of the directive. The first
// one, "scalar", has a patch that is not an object: see "a scalar over another at the root is the manifest's scalar".
var directives = map[string]twoWayCase{
	"list merge":   {manifest: finalizers(`one, two, three, {$patch: merge}`), live: finalizers(`zero`), want: finalizers(`zero, one, two, three`)},
	"list replace": {manifest: finalizers(`one, two, three, {$patch: replace}`), live: finalizers(`zero`), want: finalizers(`one, two, three`)},
	"list delete":  {manifest: finalizers(`one, two, three, {$patch: delete}`), live: finalizers(`zero`), want: `{apiVersion: apps/v1, kind: Deployment, metadata: {}}`},
	"list default": {manifest: finalizers(`one, two, three`), live: finalizers(`zero`), want: finalizers(`zero, one, two, three`)},
	"map replace":  {manifest: `{m: {metal: heavy, $patch: replace, veggie: carrot}}`, live: `{m: {river: nile}}`, want: `{m: {metal: heavy, veggie: carrot}}`},
	"map delete":   {manifest: `{m: {metal: heavy, $patch: delete, veggie: carrot}}`, live: `{m: {river: nile}}`, want: `{}`},
	"map merge":    {manifest: `{m: {metal: heavy, $patch: merge, veggie: carrot}}`, live: `{m: {river: nile}}`, want: `{m: {metal: heavy, river: nile, veggie: carrot}}`},
	"map default":  {manifest: `{m: {metal: heavy, veggie: carrot}}`, live: `{m: {river: nile}}`, want: `{m: {metal: heavy, river: nile, veggie: carrot}}`},

	"element merge":   {manifest: containers(`{name: a, image: i, $patch: merge}`), live: containers(`{name: a, stdin: true}`), want: containers(`{name: a, image: i, stdin: true}`)},
	"element replace": {manifest: containers(`{name: a, image: i, $patch: replace}`), live: containers(`{name: a, stdin: true}`), want: containers(`{name: a, image: i}`)},
	"element delete":  {manifest: containers(`{name: a, $patch: delete}`), live: containers(`{name: a}, {name: b}`), want: containers(`{name: b}`)},
}

// The options of a merge in kyaml: MergeOptionsListAppend, which is the zero value, and MergeOptionsListPrepend.
var listOrders = map[string]twoWayCase{
	"append: live's elements come first":                                       {manifest: containers(`{name: a}, {name: b, image: i}`), live: containers(`{name: b}, {name: z}`), want: containers(`{name: b, image: i}, {name: z}, {name: a}`)},
	"prepend: the manifest's elements come first":                              {order: twoway.ManifestFirst, manifest: containers(`{name: a}, {name: b, image: i}`), live: containers(`{name: z}, {name: b}`), want: containers(`{name: a}, {name: b, image: i}, {name: z}`)},
	"append: a set grows at its end":                                           {manifest: finalizers(`b, c`), live: finalizers(`a, b`), want: finalizers(`a, b, c`)},
	"prepend: a set starts with the manifest's values":                         {order: twoway.ManifestFirst, manifest: finalizers(`b, c`), live: finalizers(`a, b`), want: finalizers(`b, c, a`)},
	"prepend: a new set has each value once":                                   {order: twoway.ManifestFirst, manifest: finalizers(`a, b, a`), live: `{}`, want: finalizers(`a, b`)},
	"prepend, several keys: only new elements come first":                      {order: twoway.ManifestFirst, manifest: ports(`{containerPort: 9, protocol: TCP}, {containerPort: 8, protocol: TCP}`), live: ports(`{containerPort: 7, protocol: TCP}, {containerPort: 8, protocol: TCP}`), want: ports(`{containerPort: 9, protocol: TCP}, {containerPort: 7, protocol: TCP}, {containerPort: 8, protocol: TCP}`)},
	"prepend: a list that is replaced has the manifest's order in both orders": {order: twoway.ManifestFirst, manifest: `{a: [2, 1]}`, live: `{a: [1, 2, 3]}`, want: `{a: [2, 1]}`},
}

// Rules that the page does not state.
var lists = map[string]twoWayCase{
	"a number and a string with the same text are the same key":    {manifest: ports(`{containerPort: "80", protocol: TCP, name: x}`), live: ports(`{containerPort: 80, protocol: TCP}`), want: ports(`{containerPort: "80", protocol: TCP, name: x}`)},
	"a directive in a list that is replaced is an element":         {manifest: `{items: [1, {$patch: delete}]}`, live: `{items: [2]}`, want: `{items: [1, {$patch: delete}]}`},
	"a list without a schema is replaced unless keys are inferred": {manifest: `{a: [{name: x, b: 1}]}`, live: `{a: [{name: x, c: 1}]}`, want: `{a: [{name: x, b: 1}]}`},
	"an object of a known kind within has its schema":              {manifest: `{wrapped: ` + containers(`{name: a, image: i}`) + `}`, live: `{wrapped: ` + containers(`{name: a, args: [x]}`) + `}`, want: `{wrapped: ` + containers(`{name: a, args: [x], image: i}`) + `}`},
	"inferred: a list whose elements have no name is replaced":     {infer: true, manifest: `{a: [{b: 1}]}`, live: `{a: [{c: 1}]}`, want: `{a: [{b: 1}]}`},
	"inferred: an empty list merges with one that has names":       {infer: true, manifest: `{a: []}`, live: `{a: [{name: x}]}`, want: `{a: [{name: x}]}`},
	"inferred: a directive makes the list one with names":          {infer: true, manifest: `{a: [{name: x}, {$patch: replace}]}`, live: `{a: [{name: y}]}`, want: `{a: [{name: x}]}`},
}

// The keys that earlier versions of kyaml inferred. kyaml can still be configured to.
var formerKeys = map[string]twoWayCase{
	"by mountPath":               {manifest: `{a: [{mountPath: /x, v: 1}]}`, live: `{a: [{mountPath: /x, w: 1}, {mountPath: /y}]}`, want: `{a: [{mountPath: /x, v: 1, w: 1}, {mountPath: /y}]}`},
	"by mountPath before name":   {manifest: `{a: [{mountPath: /x, name: a}]}`, live: `{a: [{mountPath: /x, name: b}]}`, want: `{a: [{mountPath: /x, name: a}]}`},
	"by containerPort, a number": {manifest: `{a: [{containerPort: 80, v: 1}]}`, live: `{a: [{containerPort: 80, w: 1}]}`, want: `{a: [{containerPort: 80, v: 1, w: 1}]}`},
	"by name, which all have":    {manifest: `{a: [{name: x, v: 1}, {name: y, type: t}]}`, live: `{a: [{name: x}]}`, want: `{a: [{name: x, v: 1}, {name: y, type: t}]}`},
	"by none":                    {manifest: `{a: [{b: 1}]}`, live: `{a: [{c: 1}]}`, want: `{a: [{b: 1}]}`},
}

// Objects whose kind cannot be looked up: their lists are replaced.
var oddKinds = map[string]twoWayCase{
	"a number":        {manifest: `{apiVersion: v1, kind: 1, spec: {containers: [{name: b}]}}`, live: `{spec: {containers: [{name: a}]}}`, want: `{apiVersion: v1, kind: 1, spec: {containers: [{name: b}]}}`},
	"null":            {manifest: `{apiVersion: v1, kind: null, spec: {containers: [{name: b}]}}`, live: `{spec: {containers: [{name: a}]}}`, want: `{apiVersion: v1, spec: {containers: [{name: b}]}}`},
	"an object":       {manifest: `{apiVersion: v1, kind: {}, spec: {containers: [{name: b}]}}`, live: `{spec: {containers: [{name: a}]}}`, want: `{apiVersion: v1, kind: {}, spec: {containers: [{name: b}]}}`},
	"an empty string": {manifest: `{apiVersion: v1, kind: "", spec: {containers: [{name: b}]}}`, live: `{spec: {containers: [{name: a}]}}`, want: `{apiVersion: v1, kind: "", spec: {containers: [{name: b}]}}`},
}

func TestTwoWayMergeRules(t *testing.T) { allOf(t, mergeRules) }
func TestTwoWayDirectives(t *testing.T) { allOf(t, directives) }
func TestTwoWayListOrders(t *testing.T) { allOf(t, listOrders) }
func TestTwoWayOfLists(t *testing.T)    { allOf(t, lists) }
func TestTwoWayOfOddKinds(t *testing.T) { allOf(t, oddKinds) }

func allOf(t *testing.T, cases map[string]twoWayCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, c.run)
	}
}

func TestTwoWayInfersByOtherKeys(t *testing.T) {
	keys := []string{"mountPath", "devicePath", "ip", "type", "topologyKey", "name", "containerPort"}
	was := yaml.AssociativeSequenceKeys
	yaml.AssociativeSequenceKeys = keys
	t.Cleanup(func() { yaml.AssociativeSequenceKeys = was })
	for name, c := range formerKeys {
		c.infer, c.keys = true, keys
		t.Run(name, c.run)
	}
}

// deployment returns a Deployment with a pod spec.
func deployment(podSpec string) string {
	return `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {` + podSpec + `}}}}`
}

// containers returns a Deployment with containers, ports one with a container and its ports.
func containers(list string) string { return deployment(`containers: [` + list + `]`) }

func ports(list string) string { return containers(`{name: a, ports: [` + list + `]}`) }

func finalizers(list string) string {
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {finalizers: [` + list + `]}}`
}
