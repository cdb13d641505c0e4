package twoway_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/merge/twoway"
)

// deployment returns a Deployment with a pod spec.
func deployment(podSpec string) string {
	return `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {` + podSpec + `}}}}`
}

// The cases of kyaml's yaml/merge2/list_test.go.
func TestTwoWayOfLists(t *testing.T) {
	const prepend = twoway.ManifestFirst
	for name, c := range map[string]twoWayCase{
		"strategic merge patch delete 1: the first element is deleted":                        {manifest: deployment(`containers: [{name: a, $patch: delete}, {name: b}, {name: c}]`), live: deployment(`containers: [{name: a}, {name: b}, {name: c}]`), want: deployment(`containers: [{name: b}, {name: c}]`)},
		"strategic merge patch delete 2: the last element is deleted":                         {manifest: deployment(`containers: [{name: a}, {name: b}, {name: c, $patch: delete}]`), live: deployment(`containers: [{name: a}, {name: b}, {name: c}]`), want: deployment(`containers: [{name: a}, {name: b}]`)},
		"merge k8s deployment containers - prepend: the manifest's containers come first":     {order: prepend, manifest: deployment(`containers: [{name: a}, {name: b}]`), live: deployment(`containers: [{name: z}]`), want: deployment(`containers: [{name: a}, {name: b}, {name: z}]`)},
		"merge k8s deployment containers - append: the manifest's containers come last":       {manifest: deployment(`containers: [{name: a}, {name: b}]`), live: deployment(`containers: [{name: z}]`), want: deployment(`containers: [{name: z}, {name: a}, {name: b}]`)},
		"merge k8s deployment volumes - append: the manifest's volumes come last":             {manifest: deployment(`volumes: [{name: a}, {name: b}]`), live: deployment(`volumes: [{name: z}]`), want: deployment(`volumes: [{name: z}, {name: a}, {name: b}]`)},
		"merge k8s deployment volumes - prepend: the manifest's volumes come first":           {order: prepend, manifest: deployment(`volumes: [{name: a}, {name: b}]`), live: deployment(`volumes: [{name: z}]`), want: deployment(`volumes: [{name: a}, {name: b}, {name: z}]`)},
		"merge k8s deployment containers -- $patch directive: as without it":                  {manifest: deployment(`containers: [{name: a}, {name: b}, {$patch: merge}]`), live: deployment(`containers: [{name: y}, {name: z}]`), want: deployment(`containers: [{name: y}, {name: z}, {name: a}, {name: b}]`)},
		"replace k8s deployment containers -- $patch directive: only the manifest's are left": {manifest: deployment(`containers: [{name: a}, {name: b}, {$patch: replace}]`), live: deployment(`containers: [{name: y}, {name: z}]`), want: deployment(`containers: [{name: a}, {name: b}]`)},
		"remove k8s deployment containers -- $patch directive: the list is deleted":           {manifest: deployment(`containers: [{name: a}, {name: b}, {$patch: delete}]`), live: deployment(`containers: [{name: y}, {name: z}]`), want: deployment(``)},
		"replace List -- different value in dest: it is replaced":                             {manifest: `{kind: D, items: [1, 2, 3]}`, live: `{kind: D, items: [0, 1]}`, want: `{kind: D, items: [1, 2, 3]}`},
		"replace List -- missing from dest: it is added":                                      {manifest: `{kind: D, items: [1, 2, 3]}`, live: `{kind: D}`, want: `{kind: D, items: [1, 2, 3]}`},
		"keep List -- same value in src and dest: it stays":                                   {manifest: `{kind: D, items: [1, 2, 3]}`, live: `{kind: D, items: [1, 2, 3]}`, want: `{kind: D, items: [1, 2, 3]}`},
		"keep List -- unspecified in src: it stays":                                           {manifest: `{kind: D}`, live: `{kind: D, items: [1, 2, 3]}`, want: `{kind: D, items: [1, 2, 3]}`},
		"remove List -- null in src: it is removed":                                           {manifest: `{kind: D, items: null}`, live: `{kind: D, items: [1, 2, 3]}`, want: `{kind: D}`},
		"remove list -- empty in src: it is replaced by an empty one":                         {manifest: `{kind: D, items: []}`, live: `{kind: D, items: [1, 2, 3]}`, want: `{kind: D, items: []}`},

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
