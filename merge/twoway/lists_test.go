package twoway_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/merge/twoway"
)

// deployment returns a Deployment with a pod spec.
func deployment(podSpec string) string {
	return `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {` + podSpec + `}}}}`
}

func TestTwoWayOfLists(t *testing.T) {
	const prepend = twoway.ManifestFirst
	for name, c := range map[string]twoWayCase{
		"an element of both has its position in live":                         {manifest: deployment(`containers: [{name: b, image: i}, {name: a, image: i}]`), live: deployment(`containers: [{name: a}, {name: b}]`), want: deployment(`containers: [{name: a, image: i}, {name: b, image: i}]`)},
		"prepend: an element of both has its position in the manifest":        {order: prepend, manifest: deployment(`containers: [{name: b, image: i}]`), live: deployment(`containers: [{name: a}, {name: b}, {name: c}]`), want: deployment(`containers: [{name: b, image: i}, {name: a}, {name: c}]`)},
		"prepend, several keys: an element of both has its position in live":  {order: prepend, manifest: ports(`{containerPort: 9, protocol: TCP}, {containerPort: 8, protocol: TCP, name: x}`), live: ports(`{containerPort: 7, protocol: TCP}, {containerPort: 8, protocol: TCP}`), want: ports(`{containerPort: 9, protocol: TCP}, {containerPort: 7, protocol: TCP}, {containerPort: 8, protocol: TCP, name: x}`)},
		"prepend, several keys of which one is used: as with a single key":    {order: prepend, manifest: ports(`{containerPort: 9}, {containerPort: 8, name: x}`), live: ports(`{containerPort: 7}, {containerPort: 8}`), want: ports(`{containerPort: 9}, {containerPort: 8, name: x}, {containerPort: 7}`)},
		"several keys: the same number with another protocol is another port": {manifest: ports(`{containerPort: 53, protocol: UDP, name: u}`), live: ports(`{containerPort: 53, protocol: TCP, name: t}`), want: ports(`{containerPort: 53, protocol: TCP, name: t}, {containerPort: 53, protocol: UDP, name: u}`)},
		"several keys: the element that has both is changed":                  {manifest: ports(`{containerPort: 53, protocol: UDP, name: v}`), live: ports(`{containerPort: 53, protocol: TCP, name: t}, {containerPort: 53, protocol: UDP, name: u}`), want: ports(`{containerPort: 53, protocol: TCP, name: t}, {containerPort: 53, protocol: UDP, name: v}`)},
		"several keys: one element is deleted":                                {manifest: ports(`{containerPort: 53, protocol: TCP, $patch: delete}`), live: ports(`{containerPort: 53, protocol: TCP}, {containerPort: 53, protocol: UDP}`), want: ports(`{containerPort: 53, protocol: UDP}`)},
		"an element that deletes a missing element adds nothing":              {manifest: deployment(`containers: [{name: x, $patch: delete}]`), live: deployment(`containers: [{name: a}]`), want: deployment(`containers: [{name: a}]`)},
		"prepend: an element is deleted":                                      {order: prepend, manifest: deployment(`containers: [{name: a, $patch: delete}, {name: b}]`), live: deployment(`containers: [{name: a}, {name: c}]`), want: deployment(`containers: [{name: b}, {name: c}]`)},
		"deleting all elements leaves an empty list":                          {manifest: deployment(`containers: [{name: a, $patch: delete}]`), live: deployment(`containers: [{name: a}]`), want: deployment(`containers: []`)},
		"a new list follows the directives of its elements":                   {manifest: deployment(`containers: [{name: a, $patch: delete}, {name: b, $patch: merge, image: null, env: [{name: X, $patch: delete}]}]`), live: deployment(``), want: deployment(`containers: [{name: b, env: []}]`)},
		"a replacing list follows the directives of its elements":             {manifest: deployment(`containers: [{$patch: replace}, {name: b, image: null}]`), live: deployment(`containers: [{name: b, image: i}]`), want: deployment(`containers: [{name: b}]`)},
		"a number and a string with the same text are the same key":           {manifest: ports(`{containerPort: "80", protocol: TCP, name: x}`), live: ports(`{containerPort: 80, protocol: TCP}`), want: ports(`{containerPort: "80", protocol: TCP, name: x}`)},
		"a directive in a list that is replaced is an element":                {manifest: `{items: [1, {$patch: delete}]}`, live: `{items: [2]}`, want: `{items: [1, {$patch: delete}]}`},
		"prepend: the members of a set come in the manifest's order first":    {order: twoway.ManifestFirst, manifest: finalizers(`a, b`), live: finalizers(`c, b`), want: finalizers(`a, b, c`)},
		"a set with a replace directive is replaced":                          {manifest: finalizers(`a, $patch: replace`), live: finalizers(`b, c`), want: finalizers(`a`)},
		"a set with a delete directive is deleted":                            {manifest: finalizers(`a, $patch: delete`), live: finalizers(`b, c`), want: `{apiVersion: apps/v1, kind: Deployment, metadata: {}}`},
		"an empty set adds nothing":                                           {manifest: finalizers(``), live: finalizers(`b, c`), want: finalizers(`b, c`)},
		"a new set is added as it is":                                         {manifest: finalizers(`a, b`), live: `{apiVersion: apps/v1, kind: Deployment}`, want: finalizers(`a, b`)},
		"a list without a schema is replaced unless keys are inferred":        {manifest: `{a: [{name: x, b: 1}]}`, live: `{a: [{name: x, c: 1}]}`, want: `{a: [{name: x, b: 1}]}`},
		"inferred: a list whose elements have no name is replaced":            {infer: true, manifest: `{a: [{b: 1}]}`, live: `{a: [{c: 1}]}`, want: `{a: [{b: 1}]}`},
		"inferred: an empty list merges with one that has names":              {infer: true, manifest: `{a: []}`, live: `{a: [{name: x}]}`, want: `{a: [{name: x}]}`},
		"inferred: an object of a known kind within has its schema":           {manifest: `{wrapped: ` + deployment(`containers: [{name: a, image: i}]`) + `}`, live: `{wrapped: ` + deployment(`containers: [{name: a, args: [x]}]`) + `}`, want: `{wrapped: ` + deployment(`containers: [{name: a, args: [x], image: i}]`) + `}`},
		"inferred: a directive makes the list one with names":                 {infer: true, manifest: `{a: [{name: x}, {$patch: replace}]}`, live: `{a: [{name: y}]}`, want: `{a: [{name: x}]}`},
	} {
		t.Run(name, c.run)
	}
}

// ports returns a Deployment with one container and its ports.
func ports(list string) string {
	return deployment(`containers: [{name: a, ports: [` + list + `]}]`)
}
