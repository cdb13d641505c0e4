package threeway_test

import (
	"fmt"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

const widget = `
type: object
properties:
  spec:
    type: object
    properties:
      replicas: {type: integer}
      port: {x-kubernetes-int-or-string: true}
      labels: {type: object, additionalProperties: {type: string}}
      groups: {type: object, additionalProperties: {type: array, x-kubernetes-list-type: set, items: {type: string}}}
      selector: {type: object, x-kubernetes-map-type: atomic, properties: {app: {type: string}}}
      hosts: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      targets: {type: array, x-kubernetes-list-type: set, items: {x-kubernetes-int-or-string: true}}
      args: {type: array, items: {type: string}}
      listeners:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [port, protocol]
        items: {type: object, properties: {port: {type: integer}, protocol: {type: string}, name: {type: string}}}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [port, protocol]
        items: {type: object, properties: {port: {type: integer}, protocol: {type: string, default: TCP}}}
      keyless: {type: array, x-kubernetes-list-type: map, items: {type: object}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
`

// Objects of kind Widget.
var customResource = map[string]documented{
	"an object merges field by field":      {``, `{spec: {replicas: 3}}`, `{spec: {replicas: 1, port: 80}}`, `{spec: {replicas: 3, port: 80}}`},
	"a map merges key by key":              {`{spec: {labels: {a: "1"}}}`, `{spec: {labels: {b: "2"}}}`, `{spec: {labels: {a: "1", c: "3"}}}`, `{spec: {labels: {b: "2", c: "3"}}}`},
	"an atomic map is replaced":            {``, `{spec: {selector: {app: x}}}`, `{spec: {selector: {app: y, tier: z}}}`, `{spec: {selector: {app: x}}}`},
	"a set keeps values that others added": {`{spec: {hosts: [a, b]}}`, `{spec: {hosts: [b, c]}}`, `{spec: {hosts: [a, b, d]}}`, `{spec: {hosts: [b, c, d]}}`},
	"a set in a map keeps them, too":       {`{spec: {groups: {x: [a, b]}}}`, `{spec: {groups: {x: [b]}}}`, `{spec: {groups: {x: [a, b, d]}}}`, `{spec: {groups: {x: [b, d]}}}`},
	"a set can contain both integers and strings": {
		`{spec: {targets: [80, "80", web]}}`, `{spec: {targets: [web, 80]}}`,
		`{spec: {targets: [80, "80", web, 81, api]}}`, `{spec: {targets: [web, 80, 81, api]}}`,
	},
	"a list without its keys is atomic": {``, `{spec: {keyless: [{a: 1}]}}`, `{spec: {keyless: [{b: 2}]}}`, `{spec: {keyless: [{a: 1}]}}`},
	"a list is atomic by default":       {``, `{spec: {args: [a]}}`, `{spec: {args: [b, c]}}`, `{spec: {args: [a]}}`},
	"elements are matched by several keys": {
		`{spec: {listeners: [{port: 53, protocol: TCP}]}}`, `{spec: {listeners: [{port: 53, protocol: UDP, name: dns}]}}`,
		`{spec: {listeners: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP, more: 1}, {port: 54, protocol: UDP}]}}`,
		`{spec: {listeners: [{port: 53, protocol: UDP, name: dns, more: 1}, {port: 54, protocol: UDP}]}}`,
	},
	"a key with a default may be absent": {
		`{spec: {ports: [{port: 53}, {port: 54}]}}`, `{spec: {ports: [{port: 53, name: dns}]}}`,
		`{spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP, more: 1}, {port: 54, protocol: TCP}]}}`,
		`{spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP, name: dns, more: 1}]}}`,
	},
	"int-or-string allows both":                        {``, `{spec: {port: http}}`, `{spec: {port: 80}}`, `{spec: {port: http}}`},
	"unknown fields merge field by field":              {``, `{spec: {free: {a: {b: 1}, l: [1]}}}`, `{spec: {free: {a: {c: 2}, l: [2, 3]}}}`, `{spec: {free: {a: {b: 1, c: 2}, l: [1]}}}`},
	"metadata merges as in every object":               {`{metadata: {finalizers: [a]}}`, `{metadata: {finalizers: [b]}}`, `{metadata: {finalizers: [a, c]}}`, `{metadata: {finalizers: [b, c]}}`},
	"metadata of an embedded resource merges likewise": {``, `{spec: {template: {metadata: {finalizers: [b]}}}}`, `{spec: {template: {metadata: {finalizers: [c]}}}}`, `{spec: {template: {metadata: {finalizers: [b, c]}}}}`},
}

// widgetSchema returns the schema of kind Widget.
func widgetSchema(t *testing.T) schema.Schema {
	t.Helper()
	place, err := schema.OpenAPI(jsontest.FromYAML(t, widget))
	expect.NoError(t, err)
	return place
}

func TestCustomResourcesMergeByTheirSchema(t *testing.T) {
	place := widgetSchema(t)
	for name, c := range customResource {
		t.Run(name, func(t *testing.T) { c.run(t, place) })
	}
}

func TestPathsOfChangesAndErrors(t *testing.T) {
	place := widgetSchema(t)
	for sentence, c := range map[string]struct{ manifest, live, want string }{
		"the default of an absent key": {
			`{"spec":{"ports":[{"port":53},{"port":54,"name":"x"}]}}`, `{"spec":{"ports":[{"port":54}]}}`,
			`.spec.ports[port=53,protocol="TCP"] .spec.ports[port=54,protocol="TCP"].name <nil>`,
		},
		"integers of 64 bits do not become floating-point numbers": {
			`{"spec":{"ports":[{"port":9007199254740993,"protocol":"x"}],"targets":[9007199254740993]}}`, `{"spec":{"ports":[],"targets":[]}}`,
			`.spec.ports[port=9007199254740993,protocol="x"] .spec.targets[=9007199254740993] <nil>`,
		},
		"nor in an error": {
			`{"spec":{"targets":[9007199254740993,9007199254740993]}}`, `{"spec":{"targets":[9007199254740993]}}`,
			`manifest: .spec.targets[=9007199254740993]: the list has the element twice: at index 1`,
		},
		"nor do two of them become one": {
			`{"spec":{"targets":[9007199254740992,9007199254740993.0]}}`, `{"spec":{"targets":[]}}`,
			`.spec.targets[=9007199254740992] .spec.targets[=9.007199254740992e+15] <nil>`,
		},
		"a key that has no default": {
			`{"spec":{"ports":[{"protocol":"UDP"}]}}`, `{"spec":{"ports":[]}}`, `manifest: .spec.ports[0]: the element lacks the key of its list: port`,
		},
	} {
		got := ""
		report := func(c threeway.Change) { got += c.Path.String() + " " }
		_, err := threeway.Merge(nil, []byte(c.manifest), []byte(c.live), place, threeway.Options{Report: report})
		expect.Equal(t, sentence, c.want, got+fmt.Sprint(err))
	}
}
