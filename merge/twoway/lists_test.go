package twoway_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/merge/twoway"
)

// deployment returns a Deployment with a pod spec.
func deployment(podSpec string) string {
	return `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {` + podSpec + `}}}}`
}

// Cases that kyaml's own tables lack: see TestUpstreamTablesOfMerge2.
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
	} {
		t.Run(name, c.run)
	}
}

// ports returns a Deployment with one container and its ports.
func ports(list string) string {
	return deployment(`containers: [{name: a, ports: [` + list + `]}]`)
}
