package owned_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/merge/owned"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
)

// owners returns the owner of each field, by its path as the API server prints it. The manifest owns all other fields.
type owners map[string]ownership.Owner

func (o owners) of(path fieldpath.Path) ownership.FieldOwner {
	if owner, ok := o[path.String()]; ok {
		return ownership.FieldOwner{Kind: owner, By: "somebody"}
	}
	return ownership.FieldOwner{Kind: ownership.Manifest, By: "kubectl"}
}

func TestFieldsAreKeptByTheDecisionTable(t *testing.T) {
	const resources = `.spec.template.spec.containers[name="app"].resources`
	for name, c := range map[string]struct {
		base, manifest, live string
		owned                owners
		want                 string
		changes              []string
	}{
		"row 1: a field of a controller is kept, its neighbor is set": {
			``, `{spec: {template: {spec: {containers: [{name: app, image: new, resources: {limits: {cpu: "1", memory: 1Gi}}}]}}}}`,
			`{spec: {template: {spec: {containers: [{name: app, image: old, resources: {limits: {cpu: "2", memory: 2Gi}}}]}}}}`,
			owners{resources + ".limits.cpu": ownership.Controller},
			`{spec: {template: {spec: {containers: [{name: app, image: new, resources: {limits: {cpu: "2", memory: 1Gi}}}]}}}}`,
			[]string{
				`set .spec.template.spec.containers[name="app"].image "old" -> "new" (Manifest, row 0)`,
				`kept ` + resources + `.limits.cpu "2" -> "2" (Controller, row 1)`, `set ` + resources + `.limits.memory "2Gi" -> "1Gi" (Manifest, row 0)`,
			},
		},
		"row 2: a field of a controller is kept in an object that the manifest drops": {
			`{spec: {template: {spec: {containers: [{name: app, resources: {limits: {cpu: "1"}, requests: {cpu: "1"}}}]}}}}`,
			`{spec: {template: {spec: {containers: [{name: app}]}}}}`,
			`{spec: {template: {spec: {containers: [{name: app, resources: {limits: {cpu: "2"}, requests: {cpu: "1"}}}]}}}}`,
			owners{resources + ".limits.cpu": ownership.Controller},
			`{spec: {template: {spec: {containers: [{name: app, resources: {limits: {cpu: "2"}}}]}}}}`,
			[]string{`kept ` + resources + `.limits.cpu "2" -> "2" (Controller, row 2)`, `deleted ` + resources + `.requests {"cpu":"1"} -> nil (Manifest, row 5)`},
		},
		"row 3: a label that an imperative command changed is kept": {
			`{metadata: {labels: {a: x, b: x}}}`, `{metadata: {labels: {}}}`, `{metadata: {labels: {a: x, b: z}}}`,
			owners{`.metadata.labels.b`: ownership.Imperative}, `{metadata: {labels: {b: z}}}`,
			[]string{`deleted .metadata.labels.a "x" -> nil (Manifest, row 5)`, `kept .metadata.labels.b "z" -> "z" (Imperative, row 3)`},
		},
		"row 5: a value of a set that an imperative command added is deleted": {
			`{metadata: {finalizers: [x/a, x/b]}}`, `{metadata: {finalizers: []}}`, `{metadata: {finalizers: [x/a, x/b]}}`,
			owners{`.metadata.finalizers[="x/b"]`: ownership.Imperative}, `{metadata: {finalizers: []}}`,
			[]string{`deleted .metadata.finalizers[="x/a"] "x/a" -> nil (Manifest, row 5)`, `deleted .metadata.finalizers[="x/b"] "x/b" -> nil (Imperative, row 5)`},
		},
		"row 4: dropping replicas does not scale to 1": {
			`{spec: {replicas: 3, paused: true}}`, `{spec: {}}`, `{spec: {replicas: 3, paused: true}}`, nil,
			`{spec: {replicas: 3}}`,
			[]string{"deleted .spec.paused true -> nil (Manifest, row 5)", "kept .spec.replicas 3 -> 3 (Manifest, row 4)"},
		},
		"row 5: a field that the manifest owned is deleted as a whole": {
			`{spec: {strategy: {rollingUpdate: {maxSurge: 1}}}}`, `{spec: {}}`, `{spec: {strategy: {rollingUpdate: {maxSurge: 1}}}}`, nil,
			`{spec: {}}`, []string{`deleted .spec.strategy {"rollingUpdate":{"maxSurge":1}} -> nil (Manifest, row 5)`},
		},
		"row 8: null clears a field, unless an autoscaler owns it": {
			``, `{spec: {replicas: null, paused: null}}`, `{spec: {replicas: 10, paused: true}}`, owners{".spec.replicas": ownership.Autoscaler, ".spec.paused": ownership.Imperative},
			`{spec: {replicas: 10}}`,
			[]string{"kept .spec.replicas 10 -> 10 (Autoscaler, row 8)", "cleared .spec.paused true -> nil (Imperative, row 8)"},
		},
		"a kept field is deleted with its container": {
			`{spec: {template: {spec: {containers: [{name: app}, {name: web}]}}}}`, `{spec: {template: {spec: {containers: [{name: web}]}}}}`,
			`{spec: {template: {spec: {containers: [{name: app, resources: {limits: {cpu: "2"}}}, {name: web}]}}}}`,
			owners{resources + ".limits.cpu": ownership.Controller},
			`{spec: {template: {spec: {containers: [{name: web}]}}}}`,
			[]string{`deleted .spec.template.spec.containers[name="app"] {"name":"app","resources":{"limits":{"cpu":"2"}}} -> nil (Manifest, row 5)`},
		},
		"an element of a controller is kept when the manifest drops the list": {
			`{spec: {template: {spec: {volumes: [{name: a}, {name: b}]}}}}`, `{spec: {template: {spec: {}}}}`, `{spec: {template: {spec: {volumes: [{name: a}, {name: b}]}}}}`,
			owners{`.spec.template.spec.volumes[name="b"]`: ownership.Controller},
			`{spec: {template: {spec: {volumes: [{name: b}]}}}}`,
			[]string{
				`deleted .spec.template.spec.volumes[name="a"] {"name":"a"} -> nil (Manifest, row 5)`,
				`kept .spec.template.spec.volumes[name="b"] {"name":"b"} -> {"name":"b"} (Controller, row 2)`,
			},
		},
		"a member of a union is deleted when the manifest sets another, regardless of its owner": {
			``, `{spec: {strategy: {type: Recreate}}}`, `{spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}}`,
			owners{".spec.strategy.rollingUpdate.maxSurge": ownership.Controller},
			`{spec: {strategy: {type: Recreate}}}`,
			[]string{
				`set .spec.strategy.type "RollingUpdate" -> "Recreate" (Manifest, row 0)`,
				`cleared .spec.strategy.rollingUpdate {"maxSurge":1} -> nil (Default, row 0)`,
			},
		},
		"a field that live lacks has no owner": {
			`{spec: {replicas: 3}}`, `{spec: {replicas: 3}}`, `{spec: {}}`, owners{".spec.replicas": ownership.Autoscaler},
			`{spec: {replicas: 3}}`, []string{"added .spec.replicas nil -> 3 (Default, row 0)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var types schema.Types
			var changes []threeway.Change
			asked := decisions{by: owned.Fields{Owner: c.owned.of, Scale: fieldpath.MakePathOrDie("spec", "replicas")}, at: map[string]merge.Decision{}}
			options := threeway.Options{Keep: asked.keep, Report: func(c threeway.Change) { changes = append(changes, c) }}
			base, manifest, live := jsontest.FromYAML(t, c.base), jsontest.FromYAML(t, c.manifest), jsontest.FromYAML(t, c.live)
			got, err := threeway.Merge(base, manifest, live, types.Of(&appsv1.Deployment{}), options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := jsontest.Diff(t, string(jsontest.FromYAML(t, c.want)), string(got)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(inAnyOrder(c.changes), inAnyOrder(asked.lines(changes))); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// decisions are those on the changes of a merge, by path.
type decisions struct {
	by owned.Fields
	at map[string]merge.Decision
}

func (d decisions) keep(change threeway.Change) bool {
	decided := d.by.Decide(change)
	d.at[change.Path.String()] = decided
	return d.by.Keep(change)
}

// lines returns one line for each change, with the decision on it.
func (d decisions) lines(changes []threeway.Change) []string {
	lines := make([]string, len(changes))
	for i, c := range changes {
		decided := d.at[c.Path.String()]
		lines[i] = fmt.Sprintf("%s %s %s -> %s (%s, row %d)", c.Verb, c.Path, shown(c.From), shown(c.To), d.owner(c.Path), decided.Row)
	}
	return lines
}

// owner returns the owner of a field that a decision was asked for, Default for others.
func (d decisions) owner(path fieldpath.Path) ownership.Owner {
	if _, asked := d.at[path.String()]; !asked {
		return ownership.Default
	}
	return d.by.Owner(path).Kind
}

func inAnyOrder(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

func shown(value json.RawMessage) string { return cmp.Or(string(value), "nil") }
