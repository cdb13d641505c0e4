package twoway_test

import "testing"

// deployment returns a Deployment with a pod spec.
func deployment(podSpec string) string {
	return `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {` + podSpec + `}}}}`
}

func TestTwoWayOfLists(t *testing.T) {
	for name, c := range map[string]twoWayCase{
		"a number and a string with the same text are the same key":    {manifest: ports(`{containerPort: "80", protocol: TCP, name: x}`), live: ports(`{containerPort: 80, protocol: TCP}`), want: ports(`{containerPort: "80", protocol: TCP, name: x}`)},
		"a directive in a list that is replaced is an element":         {manifest: `{items: [1, {$patch: delete}]}`, live: `{items: [2]}`, want: `{items: [1, {$patch: delete}]}`},
		"a list without a schema is replaced unless keys are inferred": {manifest: `{a: [{name: x, b: 1}]}`, live: `{a: [{name: x, c: 1}]}`, want: `{a: [{name: x, b: 1}]}`},
		"inferred: a list whose elements have no name is replaced":     {infer: true, manifest: `{a: [{b: 1}]}`, live: `{a: [{c: 1}]}`, want: `{a: [{b: 1}]}`},
		"inferred: an empty list merges with one that has names":       {infer: true, manifest: `{a: []}`, live: `{a: [{name: x}]}`, want: `{a: [{name: x}]}`},
		"inferred: an object of a known kind within has its schema":    {manifest: `{wrapped: ` + deployment(`containers: [{name: a, image: i}]`) + `}`, live: `{wrapped: ` + deployment(`containers: [{name: a, args: [x]}]`) + `}`, want: `{wrapped: ` + deployment(`containers: [{name: a, args: [x], image: i}]`) + `}`},
		"inferred: a directive makes the list one with names":          {infer: true, manifest: `{a: [{name: x}, {$patch: replace}]}`, live: `{a: [{name: y}]}`, want: `{a: [{name: x}]}`},
	} {
		t.Run(name, c.run)
	}
}

// ports returns a Deployment with one container and its ports.
func ports(list string) string {
	return deployment(`containers: [{name: a, ports: [` + list + `]}]`)
}
