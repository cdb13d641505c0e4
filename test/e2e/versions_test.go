package e2e_test

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

// gizmos is an installed CRD, whose group depends on the storage version.
type gizmos struct{ group string }

// withGizmos installs the CRD until the test and its subtests end.
func withGizmos(t *testing.T, stored string) gizmos {
	t.Helper()
	url, ca := serveConversion(t)
	c := gizmos{"stores-" + stored + ".e2e.example.com"}
	n := &namespace{T: t, name: "default"}
	n.apply(strings.NewReplacer("{group}", c.group, "{url}", url, "{ca}", ca, "{storesV1}", strconv.FormatBool(stored == "v1"),
		"{storesV2}", strconv.FormatBool(stored == "v2")).Replace(testdata("gizmos")))
	// Before the conversion webhook stops: deleting the CRD deletes its objects.
	t.Cleanup(func() { n.kubectl("delete", "crd", "gizmos."+c.group, "--timeout=60s") })
	n.kubectl("wait", "--for=condition=Established", "crd/gizmos."+c.group, "--timeout=60s")
	probe := newNamespace(t, "enforce")
	probe.eventually("gizmos can be applied in both versions", func() bool {
		return probe.run(c.manifest("v1", "replicas=3"), "apply", "-f", "-").Err == nil &&
			probe.run(c.manifest("v2", "replicas=3"), "apply", "-f", "-", "--dry-run=server").Err == nil
	})
	return c
}

// resource returns the resource of gizmos in a version, in the syntax of kubectl.
func (c gizmos) resource(version string) string { return "gizmos." + version + "." + c.group }

// manifest returns the gizmo web with fields ("replicas=3", "color=red") and rules ("rule=color"), in the layout of a version.
func (c gizmos) manifest(version string, fields ...string) string {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(c.group + "/" + version)
	o.SetKind("Gizmo")
	o.SetName("web")
	for _, f := range fields {
		name, text, _ := strings.Cut(f, "=")
		if name == "rule" {
			o.SetAnnotations(map[string]string{ownership.ControllerFieldsAnnotation: "." + strings.Join(gizmoPath(version, text), ".")})
			continue
		}
		var value any = text
		if number, err := strconv.ParseInt(text, 10, 64); err == nil {
			value = number
		}
		if err := unstructured.SetNestedField(o.Object, value, gizmoPath(version, name)...); err != nil {
			panic(err) // a mistake in a scenario
		}
	}
	text, err := json.Marshal(o.Object)
	if err != nil {
		panic(err) // it has texts and numbers only
	}
	return string(text)
}

// gizmoPath returns the path of a field of v1 in a version.
func gizmoPath(version, name string) []string {
	for _, names := range gizmoFields() {
		if names[0] == name && version == "v2" {
			name = names[1]
			break
		}
	}
	return strings.Split("spec."+name, ".")
}

// has checks fields, each as "name=value", without a value for a missing field.
func (p step) has(fields ...string) step {
	for _, f := range fields {
		name, want, _ := strings.Cut(f, "=")
		p = p.value("."+strings.Join(gizmoPath("v2", name), "."), want)
	}
	return p
}

// way is a way to apply gizmos: manifests in one version, while others write in another one.
type way struct {
	gizmos

	applied, written string
}

// applies is an apply of fields, twice, which must not change the managedFields entries of others.
func (w way) applies(fields ...string) step {
	once := applies(w.manifest(w.applied, fields...))
	return step{do: func(s stage) result {
		s.Helper()
		before := othersOf(s.object())
		r := once.do(s)
		expect.Equal(s, "the entries of others, before and after", before, othersOf(s.object()))
		return r
	}}.twice()
}

// othersOf returns the field sets of managers that are no appliers, by manager, version and subresource.
func othersOf(o *unstructured.Unstructured) map[string]string {
	found := map[string]string{}
	for _, e := range o.GetManagedFields() {
		if e.Operation == metav1.ManagedFieldsOperationUpdate && e.Manager != "kubectl-client-side-apply" {
			found[e.Manager+" "+e.APIVersion+" "+e.Subresource] = string(e.FieldsV1.GetRawBytes())
		}
	}
	return found
}

func (w way) created(fields ...string) step { return applies(w.manifest(w.applied, fields...)) }

func (w way) scaled(version string) step {
	return runs("scale", w.resource(version), "web", "--replicas=7")
}

// painted changes fields as a controller does.
func (w way) painted(fields ...string) step {
	return runs("patch", w.resource(w.written), "web", "--type=merge", "--field-manager=painter", "-p", w.manifest(w.written, fields...))
}

// autoscaled creates an autoscaler that never scales, and waits until handoff knows it.
func (w way) autoscaled() step {
	return writes(idle(w.group+"/v1", "Gizmo"), "create").check(func(s stage, _ result) {
		s.Helper()
		manifest := w.manifest("v2", "replicas=19", "note=probe") // an apply of replicas alone is not that of a manifest
		s.eventually("handoff knows of the autoscaler", func() bool {
			r := s.run(manifest, "apply", "--server-side", "--force-conflicts", "--field-manager=probe", "--dry-run=server", "-f", "-")
			return strings.Contains(r.Stderr, "HorizontalPodAutoscaler")
		})
	})
}

func (w way) scenarios() map[string][]step {
	return map[string][]step{
		"replicas of an autoscaler": {
			w.created("replicas=3", "color=red"), w.autoscaled(), w.scaled(w.written),
			w.applies("replicas=3", "color=red").has("replicas=7", "color=red").says("kept .spec.").says(handBack),
			w.applies("replicas=4", "color=blue").has("replicas=7", "color=blue"), w.applies("color=green").has("replicas=7", "color=green"),
		},
		"a controller's field": {
			w.created("rule=color", "replicas=3", "color=red", "font=a", "note=n"), w.painted("color=pink"),
			w.applies("rule=color", "replicas=3", "color=red", "font=a", "note=n").has("replicas=3", "color=pink", "font=a", "note=n").says("owned by painter"),
			w.applies("rule=color", "replicas=3", "color=blue", "font=a", "note=n").has("color=pink", "note=n"),
			w.applies("rule=color", "replicas=3", "font=a", "note=n").has("color=pink", "font=a", "note=n"),
			w.applies("rule=color", "replicas=3", "font=a").has("color=pink", "font=a", "note="), // something else
			applies(w.manifest(w.applied, "replicas=3", "color=blue")).has("color=blue"),
		},
	}
}

// moreScenarios are those for which the storage version makes no difference: the webhook sees the same.
func (w way) moreScenarios() map[string][]step {
	return map[string][]step{
		"replicas of an autoscaler, removed with their parent": {
			w.created("replicas=3", "burst=9", "color=red"), w.autoscaled(), w.scaled(w.written), w.applies("color=red").has("replicas=7", "color=red"),
		},
		"replicas set with kubectl scale": {
			w.created("replicas=3", "color=red"), w.scaled(w.written), w.applies("color=red").has("replicas=7", "color=red"),
			applies(w.manifest(w.applied, "replicas=4", "color=red")).has("replicas=4"), // row 6
		},
		"a controller's field, removed with its parent": {
			w.created("rule=color", "color=red", "font=a", "replicas=3", "note=n"), w.painted("color=pink"),
			w.applies("rule=color", "replicas=3", "note=other").has("color=pink", "font=", "replicas=3", "note=other"),
		},
		"a path that is another field in the other version": {
			w.created("shape=round", "outline=thin", "replicas=3"), w.painted("shape=square"),
			applies(w.manifest(w.applied, "shape=square", "replicas=3")).warns().has("shape=square", "outline="),
		},
		"fields without a rule": {
			w.created("note=n", "color=red", "replicas=3"), w.painted("note=mine", "color=pink"),
			applies(w.manifest(w.applied, "replicas=3")).has("replicas=3").check(func(s stage, r result) {
				s.Helper()
				left := step{}.has("note=", "color=")
				if s.args != nil { // as without handoff, a server-side apply leaves what others manage
					left = step{}.has("note=mine", "color=pink")
				}
				for _, check := range left.checks {
					check(s, r)
				}
			}),
		},
	}
}

// moves are manifests that move from one version to the other, and drop replicas.
func (w way) moves() map[string][]step {
	created := applies(w.manifest(w.written, "replicas=3", "color=red"))
	moved := func(replicas string) step { return w.applies("color=red").has("replicas="+replicas, "color=red") }
	return map[string][]step{
		"a workload without an autoscaler":                    {created, moved("3")},
		"a workload that an autoscaler has scaled":            {created, w.autoscaled(), w.scaled(w.applied), moved("7")},
		"a workload whose autoscaler did not scale":           {created, w.autoscaled(), moved("3")},
		"a workload scaled with kubectl":                      {created, w.scaled(w.written), moved("7")},
		"a workload scaled with kubectl in the other version": {created, w.scaled(w.applied), moved("7")},
	}
}

// TestVersionsOfACustomResourceWithDifferentLayouts plays scenarios in which others use the applied version or the other one, in both
// directions.
func TestVersionsOfACustomResourceWithDifferentLayouts(t *testing.T) {
	t.Parallel()
	localOnly(t)
	for _, stored := range []string{"v1", "v2"} {
		t.Run("stored in "+stored, func(t *testing.T) {
			t.Parallel()
			c := withGizmos(t, stored)
			all := map[string]scenario{}
			for _, w := range []way{{c, "v2", "v1"}, {c, "v1", "v2"}, {c, "v2", "v2"}} {
				scenarios := w.scenarios()
				if stored == "v2" {
					maps.Copy(scenarios, w.moreScenarios())
				}
				if stored == "v2" && w.applied != w.written {
					maps.Copy(scenarios, w.moves())
				}
				for sentence, steps := range scenarios {
					all[sentence+", written in "+w.written+", applied in "+w.applied] = scenario{kind: c.resource("v2"), steps: steps}
				}
			}
			t.Run("all", func(t *testing.T) { playBy(t, bothSides(), all) }) // ends before the CRD is deleted
		})
	}
}
