package threeway_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// documented is an example or a table row of a document about kubectl apply. Its inputs are the part of a Deployment that the
// document shows, as YAML.
type documented struct{ base, manifest, live, want string }

const simpleDeployment = `{spec: {minReadySeconds: 5, selector: {matchLabels: {app: nginx}}, template: {metadata: {labels: {app: nginx}}, spec: {containers: [{image: "nginx:1.14.2", name: nginx, ports: [{containerPort: 80}]}]}}}}`

// defaultedDeployment is simpleDeployment as the API server stores it.
const defaultedDeployment = `{spec: {selector: {matchLabels: {app: nginx}}, minReadySeconds: 5, replicas: 1, strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}, type: RollingUpdate},
	template: {metadata: {creationTimestamp: null, labels: {app: nginx}}, spec: {containers: [{image: "nginx:1.14.2", imagePullPolicy: IfNotPresent, name: nginx, ports: [{containerPort: 80, protocol: TCP}],
	resources: {}, terminationMessagePath: /dev/termination-log}], dnsPolicy: ClusterFirst, restartPolicy: Always, securityContext: {}, terminationGracePeriodSeconds: 30}}}}`

// The page "Declarative Management of Kubernetes Objects Using Configuration Files"
// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/), by its headings.
var declarativeConfig = map[string]documented{
	"Creating objects": {``, simpleDeployment, `{}`, simpleDeployment},
	"How to update objects, and merge patch calculation": {
		base:     simpleDeployment,
		manifest: `{spec: {selector: {matchLabels: {app: nginx}}, template: {metadata: {labels: {app: nginx}}, spec: {containers: [{image: "nginx:1.16.1", name: nginx, ports: [{containerPort: 80}]}]}}}}`,
		live:     `{spec: {replicas: 2, minReadySeconds: 5, selector: {matchLabels: {app: nginx}}, template: {metadata: {labels: {app: nginx}}, spec: {containers: [{image: "nginx:1.14.2", name: nginx, ports: [{containerPort: 80}]}]}}}}`,
		want:     `{spec: {replicas: 2, selector: {matchLabels: {app: nginx}}, template: {metadata: {labels: {app: nginx}}, spec: {containers: [{image: "nginx:1.16.1", name: nginx, ports: [{containerPort: 80}]}]}}}}`,
	},
	"Merge patch calculation: null clears what last-applied has":    {`{spec: {minReadySeconds: 5}}`, `{spec: {minReadySeconds: null}}`, `{spec: {minReadySeconds: 5}}`, `{spec: {}}`},
	"Merge patch calculation: null clears what last-applied lacks":  {`{spec: {}}`, `{spec: {minReadySeconds: null}}`, `{spec: {minReadySeconds: 5}}`, `{spec: {}}`},
	"Merging changes to primitive fields: in the file and live":     {``, `{spec: {replicas: 3}}`, `{spec: {replicas: 2}}`, `{spec: {replicas: 3}}`},
	"Merging changes to primitive fields: in the file, not live":    {``, `{spec: {replicas: 3}}`, `{spec: {}}`, `{spec: {replicas: 3}}`},
	"Merging changes to primitive fields: in last-applied only":     {`{spec: {replicas: 3}}`, `{spec: {}}`, `{spec: {replicas: 2}}`, `{spec: {}}`},
	"Merging changes to primitive fields: in neither, kept in live": {`{spec: {}}`, `{spec: {}}`, `{spec: {replicas: 2}}`, `{spec: {replicas: 2}}`},
	"Merging changes to map fields: in the file and live":           {``, `{metadata: {labels: {a: new}}}`, `{metadata: {labels: {a: old, b: theirs}}}`, `{metadata: {labels: {a: new, b: theirs}}}`},
	"Merging changes to map fields: in the file, not live":          {``, `{metadata: {labels: {a: new}}}`, `{metadata: {}}`, `{metadata: {labels: {a: new}}}`},
	"Merging changes to map fields: in last-applied only":           {`{metadata: {labels: {a: old}}}`, `{metadata: {labels: {}}}`, `{metadata: {labels: {a: old, b: theirs}}}`, `{metadata: {labels: {b: theirs}}}`},
	"Merging changes to map fields: in neither, kept in live":       {`{metadata: {labels: {}}}`, `{metadata: {labels: {}}}`, `{metadata: {labels: {b: theirs}}}`, `{metadata: {labels: {b: theirs}}}`},
	"Replace the list if all its elements are primitives": {
		base:     `{spec: {template: {spec: {containers: [{name: x, args: [a, b]}]}}}}`,
		manifest: `{spec: {template: {spec: {containers: [{name: x, args: [a, c]}]}}}}`,
		live:     `{spec: {template: {spec: {containers: [{name: x, args: [a, b, d]}]}}}}`,
		want:     `{spec: {template: {spec: {containers: [{name: x, args: [a, c]}]}}}}`,
	},
	"Replace the list if all its elements are primitives: in last-applied only":     {`{spec: {template: {spec: {containers: [{name: x, args: [a]}]}}}}`, `{spec: {template: {spec: {containers: [{name: x}]}}}}`, `{spec: {template: {spec: {containers: [{name: x, args: [a, b]}]}}}}`, `{spec: {template: {spec: {containers: [{name: x}]}}}}`},
	"Replace the list if all its elements are primitives: in neither, kept in live": {`{spec: {template: {spec: {containers: [{name: x}]}}}}`, `{spec: {template: {spec: {containers: [{name: x}]}}}}`, `{spec: {template: {spec: {containers: [{name: x, args: [a]}]}}}}`, `{spec: {template: {spec: {containers: [{name: x, args: [a]}]}}}}`},
	"Replace the list where no patchStrategy is specified, whatever its elements": {
		`{spec: {template: {spec: {tolerations: [{key: a}]}}}}`, `{spec: {template: {spec: {tolerations: [{key: a}, {key: b}]}}}}`,
		`{spec: {template: {spec: {tolerations: [{key: a, value: theirs}, {key: c}]}}}}`, `{spec: {template: {spec: {tolerations: [{key: a}, {key: b}]}}}}`,
	},
	// The page says that this is not supported as of 1.5. It is.
	"Merge a list of primitive elements": {
		`{metadata: {finalizers: [a, b]}}`, `{metadata: {finalizers: [a, c]}}`, `{metadata: {finalizers: [a, b, d]}}`, `{metadata: {finalizers: [a, c, d]}}`,
	},
	"Merge individual elements of a list of complex elements": {
		base:     `{spec: {template: {spec: {containers: [{name: nginx, image: "nginx:1.16"}, {name: nginx-helper-a, image: "helper:1.3"}, {name: nginx-helper-b, image: "helper:1.3"}]}}}}`,
		manifest: `{spec: {template: {spec: {containers: [{name: nginx, image: "nginx:1.16"}, {name: nginx-helper-b, image: "helper:1.3"}, {name: nginx-helper-c, image: "helper:1.3"}]}}}}`,
		live:     `{spec: {template: {spec: {containers: [{name: nginx, image: "nginx:1.16"}, {name: nginx-helper-a, image: "helper:1.3"}, {name: nginx-helper-b, image: "helper:1.3", args: [run]}, {name: nginx-helper-d, image: "helper:1.3"}]}}}}`,
		// The page shows c before d. Apply gives d before c: see "Order after a deletion" in docs/merge-differences.md.
		want: `{spec: {template: {spec: {containers: [{name: nginx, image: "nginx:1.16"}, {name: nginx-helper-b, image: "helper:1.3", args: [run]}, {name: nginx-helper-d, image: "helper:1.3"}, {name: nginx-helper-c, image: "helper:1.3"}]}}}}`,
	},
	"Default field values: a field that the API server set stays": {simpleDeployment, simpleDeployment, defaultedDeployment, defaultedDeployment},
	"Default field values: strategy.type changes over a defaulted rollingUpdate": {
		// The page says ERROR: rollingUpdate stays. Since Deployments have retainKeys, it is removed.
		base:     `{spec: {template: {metadata: {labels: {app: nginx}}, spec: {containers: [{name: nginx, image: "nginx:1.14.2", ports: [{containerPort: 80}]}]}}}}`,
		manifest: `{spec: {strategy: {type: Recreate}, template: {metadata: {labels: {app: nginx}}, spec: {containers: [{name: nginx, image: "nginx:1.14.2", ports: [{containerPort: 80}]}]}}}}`,
		live:     `{spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}, template: {metadata: {labels: {app: nginx}}, spec: {containers: [{name: nginx, image: "nginx:1.14.2", ports: [{containerPort: 80}]}]}}}}`,
		want:     `{spec: {strategy: {type: Recreate}, template: {metadata: {labels: {app: nginx}}, spec: {containers: [{name: nginx, image: "nginx:1.14.2", ports: [{containerPort: 80}]}]}}}}`,
	},
	"Default field values: a rollout strategy that the file defined is deleted with it": {
		base:     `{spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}}`,
		manifest: `{spec: {strategy: {type: Recreate}}}`,
		live:     `{spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}}}`,
		want:     `{spec: {strategy: {type: Recreate}}}`,
	},
	"How to clear server-defaulted fields or fields set by other writers": {`{spec: {}}`, `{spec: {replicas: null}}`, `{spec: {replicas: 7, paused: true}}`, `{spec: {paused: true}}`},
	"Changing the owner from a direct imperative writer to a configuration file": {
		`{spec: {}}`, `{spec: {replicas: 3}}`, `{spec: {replicas: 7}}`, `{spec: {replicas: 3}}`,
	},
	"Changing the owner from a configuration file to a direct imperative writer, without the manual step": {
		// The problem that handoff solves: in its namespaces, the field stays.
		`{spec: {replicas: 3}}`, `{spec: {}}`, `{spec: {replicas: 7}}`, `{spec: {}}`,
	},
	// kubectl replace --save-config has recorded the exported object as last-applied.
	"Migrating from imperative command management to declarative object configuration": {defaultedDeployment, defaultedDeployment, defaultedDeployment, defaultedDeployment},
	"Migrating from imperative object configuration to declarative object configuration": {
		`{spec: {replicas: 2, paused: true}}`, `{spec: {replicas: 3}}`, `{spec: {replicas: 2, paused: true, minReadySeconds: 5}}`, `{spec: {replicas: 3, minReadySeconds: 5}}`,
	},
	"Changing the owner from a configuration file to a direct imperative writer": {
		// The field was removed from last-applied too, manually.
		`{spec: {}}`, `{spec: {}}`, `{spec: {replicas: 7}}`, `{spec: {replicas: 7}}`,
	},
}

// The chapter "Field Merge Semantics" of the Kubectl Book
// (https://kubectl.docs.kubernetes.io/pages/app_management/field_merge_semantics.html), by its headings.
var fieldMergeSemantics = map[string]documented{
	"Applying Resource Config Updates: a field that an autoscaler set stays": {`{spec: {minReadySeconds: 3}}`, `{spec: {minReadySeconds: 5}}`, `{spec: {replicas: 9, minReadySeconds: 3}}`, `{spec: {replicas: 9, minReadySeconds: 5}}`},
	"Last Applied Resource Config: the Resource does not exist": {
		``, `{spec: {selector: {matchLabels: {app: nginx}}, template: {metadata: {labels: {app: nginx}}, spec: {containers: [{name: nginx, image: "nginx:1.7.9"}]}}}}`,
		`{}`, `{spec: {selector: {matchLabels: {app: nginx}}, template: {metadata: {labels: {app: nginx}}, spec: {containers: [{name: nginx, image: "nginx:1.7.9"}]}}}}`,
	},
	"Adding Fields":   {``, `{spec: {minReadySeconds: 3}}`, `{spec: {}, status: {}}`, `{spec: {minReadySeconds: 3}, status: {}}`},
	"Updating Fields": {``, `{spec: {replicas: 2}}`, `{spec: {replicas: 1}, status: {}}`, `{spec: {replicas: 2}, status: {}}`},
	// The API server then sets replicas to its default, 1.
	"Deleting Fields: removed from the file":                        {`{spec: {replicas: 2, minReadySeconds: 3}}`, `{spec: {}}`, `{spec: {minReadySeconds: 3, replicas: 2}, status: {}}`, `{spec: {}, status: {}}`},
	"Deleting Fields: set to null":                                  {``, `{spec: {minReadySeconds: null}}`, `{spec: {minReadySeconds: 3}, status: {}}`, `{spec: {}, status: {}}`},
	"Removing Fields from Resource Config: it deletes them":         {`{spec: {replicas: 2}}`, `{spec: {}}`, `{spec: {replicas: 9}}`, `{spec: {}}`},
	"Removing Fields from Resource Config: after edit-last-applied": {`{spec: {}}`, `{spec: {}}`, `{spec: {replicas: 9}}`, `{spec: {replicas: 9}}`},

	"Merging Primitives: in config and resource":             {``, `{spec: {paused: true}}`, `{spec: {paused: false}}`, `{spec: {paused: true}}`},
	"Merging Primitives: in config, not in resource":         {``, `{spec: {paused: true}}`, `{spec: {}}`, `{spec: {paused: true}}`},
	"Merging Primitives: not in config, in last applied":     {`{spec: {paused: true}}`, `{spec: {}}`, `{spec: {paused: false}}`, `{spec: {}}`},
	"Merging Primitives: not in config, not in last applied": {``, `{spec: {}}`, `{spec: {paused: false}}`, `{spec: {paused: false}}`},

	"Merging Objects: in config and resource":             {``, `{spec: {strategy: {rollingUpdate: {maxSurge: 2}}}}`, `{spec: {strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}}}`, `{spec: {strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 1}}}}`},
	"Merging Objects: in config, not in resource":         {``, `{spec: {strategy: {type: Recreate}}}`, `{spec: {}}`, `{spec: {strategy: {type: Recreate}}}`},
	"Merging Objects: not in config, in last applied":     {`{spec: {strategy: {type: Recreate}}}`, `{spec: {}}`, `{spec: {strategy: {type: Recreate}}}`, `{spec: {}}`},
	"Merging Objects: not in config, not in last applied": {``, `{spec: {}}`, `{spec: {strategy: {type: Recreate}}}`, `{spec: {strategy: {type: Recreate}}}`},

	"Merging Maps: in config and resource":             {``, `{metadata: {annotations: {a: "1"}}}`, `{metadata: {annotations: {a: "0", b: "2"}}}`, `{metadata: {annotations: {a: "1", b: "2"}}}`},
	"Merging Maps: in config, not in resource":         {``, `{metadata: {annotations: {a: "1"}}}`, `{metadata: {annotations: {b: "2"}}}`, `{metadata: {annotations: {a: "1", b: "2"}}}`},
	"Merging Maps: not in config, in last applied":     {`{metadata: {annotations: {a: "1"}}}`, `{metadata: {}}`, `{metadata: {annotations: {a: "1"}}}`, `{metadata: {}}`},
	"Merging Maps: not in config, not in last applied": {``, `{metadata: {annotations: {}}}`, `{metadata: {annotations: {b: "2"}}}`, `{metadata: {annotations: {b: "2"}}}`},

	"Merging Lists of Primitives: in config and resource":             {``, `{metadata: {finalizers: [a]}}`, `{metadata: {finalizers: [a]}}`, `{metadata: {finalizers: [a]}}`},
	"Merging Lists of Primitives: in config, not in resource":         {``, `{metadata: {finalizers: [a]}}`, `{metadata: {finalizers: [b]}}`, `{metadata: {finalizers: [a, b]}}`},
	"Merging Lists of Primitives: not in config, in last applied":     {`{metadata: {finalizers: [a]}}`, `{metadata: {finalizers: []}}`, `{metadata: {finalizers: [a, b]}}`, `{metadata: {finalizers: [b]}}`},
	"Merging Lists of Primitives: not in config, not in last applied": {``, `{metadata: {finalizers: []}}`, `{metadata: {finalizers: [b]}}`, `{metadata: {finalizers: [b]}}`},
	// The book shows args, and [a, c, d]. That is true for a list that merges, such as finalizers; args are replaced.
	"Merging Lists of Primitives: the example, of a list that merges": declarativeConfig["Merge a list of primitive elements"],
	"Merging Lists of Primitives: the order is the file's": {
		`{metadata: {finalizers: [a, b, c]}}`, `{metadata: {finalizers: [c, a, e]}}`, `{metadata: {finalizers: [a, b, c, d]}}`, `{metadata: {finalizers: [c, a, e, d]}}`,
	},
	"Merging Lists of Primitives: the example, of a list that is replaced": declarativeConfig["Replace the list if all its elements are primitives"],
	"Merging Lists of Objects: in config":                                  {``, `{spec: {template: {spec: {containers: [{name: x, image: new}]}}}}`, `{spec: {template: {spec: {containers: [{name: x, image: old, stdin: true}]}}}}`, `{spec: {template: {spec: {containers: [{name: x, image: new, stdin: true}]}}}}`},
	"Merging Lists of Objects: in config, not in resource":                 {``, `{spec: {template: {spec: {containers: [{name: x}]}}}}`, `{spec: {template: {spec: {containers: [{name: y}]}}}}`, `{spec: {template: {spec: {containers: [{name: x}, {name: y}]}}}}`},
	"Merging Lists of Objects: not in config, in last applied":             {`{spec: {template: {spec: {containers: [{name: x}]}}}}`, `{spec: {template: {spec: {containers: []}}}}`, `{spec: {template: {spec: {containers: [{name: x}, {name: y}]}}}}`, `{spec: {template: {spec: {containers: [{name: y}]}}}}`},
	"Merging Lists of Objects: not in config, not in last applied":         {``, `{spec: {template: {spec: {containers: []}}}}`, `{spec: {template: {spec: {containers: [{name: y}]}}}}`, `{spec: {template: {spec: {containers: [{name: y}]}}}}`},
	"Merging Lists of Objects: the order is the file's": {
		`{spec: {template: {spec: {containers: [{name: x}, {name: y}]}}}}`, `{spec: {template: {spec: {containers: [{name: y}, {name: x}, {name: new}]}}}}`,
		`{spec: {template: {spec: {containers: [{name: x}, {name: y}, {name: theirs}]}}}}`, `{spec: {template: {spec: {containers: [{name: y}, {name: x}, {name: new}, {name: theirs}]}}}}`,
	},
	"Edit and Set: a field that the file sets is set again": {`{spec: {replicas: 2}}`, `{spec: {replicas: 2}}`, `{spec: {replicas: 9}}`, `{spec: {replicas: 2}}`},
	"Edit and Set: a field that neither has stays":          {`{spec: {}}`, `{spec: {}}`, `{spec: {paused: true}}`, `{spec: {paused: true}}`},
}

// The example that the page ends with "ERROR!" is a Deployment. It is still true for a StatefulSet, whose updateStrategy is not
// a union for apply. handoff fixes that: see docs/stale-defaults.md.
var defaultsOfAStatefulSet = map[string]documented{
	"Default field values: updateStrategy.type changes over a defaulted rollingUpdate": {
		`{spec: {}}`, `{spec: {updateStrategy: {type: OnDelete}}}`, `{spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}}`,
		`{spec: {updateStrategy: {type: OnDelete, rollingUpdate: {partition: 0}}}}`,
	},
	"Default field values: null clears the rollingUpdate": {
		`{spec: {}}`, `{spec: {updateStrategy: {type: OnDelete, rollingUpdate: null}}}`, `{spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}}`,
		`{spec: {updateStrategy: {type: OnDelete}}}`,
	},
}

func TestDeclarativeConfig(t *testing.T) { asDocumented(t, declarativeConfig, &appsv1.Deployment{}) }
func TestDeclarativeConfigOfAStatefulSet(t *testing.T) {
	asDocumented(t, defaultsOfAStatefulSet, &appsv1.StatefulSet{})
}
func TestFieldMergeSemantics(t *testing.T) {
	asDocumented(t, fieldMergeSemantics, &appsv1.Deployment{})
}

// asDocumented tests each case for objects of a type, and that upstream has the same result.
func asDocumented(t *testing.T, cases map[string]documented, typed runtime.Object) {
	t.Helper()
	var types schema.Types
	o := sample{place: types.Of(typed), typed: typed}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			base, manifest, live, _ := c.run(t, o.place)
			differential(t, o, base, manifest, live)
		})
	}
}

// run tests the case with a schema, and returns the inputs and the result.
func (c documented) run(t *testing.T, place schema.Schema) (base, manifest, live, got []byte) {
	t.Helper()
	base, manifest, live = jsontest.FromYAML(t, c.base), jsontest.FromYAML(t, c.manifest), jsontest.FromYAML(t, c.live)
	got, err := threeway.Merge(base, manifest, live, place, threeway.Options{})
	same(t, "handoff", string(jsontest.FromYAML(t, c.want)), got, err)
	return base, manifest, live, got
}
