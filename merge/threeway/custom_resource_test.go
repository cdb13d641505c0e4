package threeway_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

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
      selector: {type: object, x-kubernetes-map-type: atomic, properties: {app: {type: string}}}
      hosts: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      args: {type: array, items: {type: string}}
      listeners:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [port, protocol]
        items: {type: object, properties: {port: {type: integer}, protocol: {type: string}, name: {type: string}}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
`

// Objects of kind Widget.
var customResource = map[string]documented{
	"an object merges field by field":      {``, `{spec: {replicas: 3}}`, `{spec: {replicas: 1, port: 80}}`, `{spec: {replicas: 3, port: 80}}`},
	"a map merges key by key":              {`{spec: {labels: {a: "1"}}}`, `{spec: {labels: {b: "2"}}}`, `{spec: {labels: {a: "1", c: "3"}}}`, `{spec: {labels: {b: "2", c: "3"}}}`},
	"an atomic map is replaced":            {``, `{spec: {selector: {app: x}}}`, `{spec: {selector: {app: y, tier: z}}}`, `{spec: {selector: {app: x}}}`},
	"a set keeps values that others added": {`{spec: {hosts: [a, b]}}`, `{spec: {hosts: [b, c]}}`, `{spec: {hosts: [a, b, d]}}`, `{spec: {hosts: [b, c, d]}}`},
	"a list is atomic by default":          {``, `{spec: {args: [a]}}`, `{spec: {args: [b, c]}}`, `{spec: {args: [a]}}`},
	"elements are matched by several keys": {
		`{spec: {listeners: [{port: 53, protocol: TCP}]}}`, `{spec: {listeners: [{port: 53, protocol: UDP, name: dns}]}}`,
		`{spec: {listeners: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP, more: 1}, {port: 54, protocol: UDP}]}}`,
		`{spec: {listeners: [{port: 53, protocol: UDP, name: dns, more: 1}, {port: 54, protocol: UDP}]}}`,
	},
	"int-or-string allows both":                        {``, `{spec: {port: http}}`, `{spec: {port: 80}}`, `{spec: {port: http}}`},
	"unknown fields merge field by field":              {``, `{spec: {free: {a: {b: 1}, l: [1]}}}`, `{spec: {free: {a: {c: 2}, l: [2, 3]}}}`, `{spec: {free: {a: {b: 1, c: 2}, l: [1]}}}`},
	"metadata merges as in every object":               {`{metadata: {finalizers: [a]}}`, `{metadata: {finalizers: [b]}}`, `{metadata: {finalizers: [a, c]}}`, `{metadata: {finalizers: [b, c]}}`},
	"metadata of an embedded resource merges likewise": {``, `{spec: {template: {metadata: {finalizers: [b]}}}}`, `{spec: {template: {metadata: {finalizers: [c]}}}}`, `{spec: {template: {metadata: {finalizers: [b, c]}}}}`},
}

func TestCustomResourcesMergeByTheirSchema(t *testing.T) {
	definition, err := yaml.YAMLToJSON([]byte(widget))
	if err != nil {
		t.Fatal(err)
	}
	place, err := schema.OpenAPI(definition)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range customResource {
		t.Run(name, func(t *testing.T) {
			got, err := threeway.MergeJSON(jsontest.FromYAML(t, c.base), jsontest.FromYAML(t, c.manifest), jsontest.FromYAML(t, c.live), place, threeway.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fromJSON(t, jsontest.FromYAML(t, c.want)), fromJSON(t, got)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}
