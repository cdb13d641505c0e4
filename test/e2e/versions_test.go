package e2e_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/ownership"
)

// gizmoCluster is an installed CRD of gizmos with its storage version.
type gizmoCluster struct {
	*testing.T
	group, stored string
}

// withGizmos installs the CRD until the test and its subtests end.
func withGizmos(t *testing.T, stored string) gizmoCluster {
	t.Helper()
	url, ca := serveConversion(t)
	c := gizmoCluster{T: t, stored: stored, group: "stores-" + stored + ".e2e.example.com"}
	n := &namespace{T: t, name: "default"}
	n.apply(strings.NewReplacer("{group}", c.group, "{url}", url, "{ca}", ca, "{storesV1}", strconv.FormatBool(stored == "v1"),
		"{storesV2}", strconv.FormatBool(stored == "v2")).Replace(gizmoVersions))
	t.Cleanup(func() { // before the conversion webhook stops: deleting the CRD deletes its objects
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		out, err := exec.CommandContext(ctx, cluster.Plane.Kubectl, "delete", "crd", "gizmos."+c.group).CombinedOutput()
		if err != nil {
			t.Errorf("deleting the CRD: %v: %s", err, out)
		}
	})
	n.kubectl("wait", "--for=condition=Established", "crd/gizmos."+c.group, "--timeout=60s")
	probe := c.namespace(t, "enforce")
	probe.eventually("gizmos can be applied in both versions", func() bool {
		return probe.run(probe.manifest("v1", "replicas=3"), "apply", "-f", "-").err == nil &&
			probe.run(probe.manifest("v2", "replicas=3"), "apply", "-f", "-", "--dry-run=server").err == nil
	})
	probe.autoscaled("v2")
	return c
}

// gizmos is a namespace with a gizmo web.
type gizmos struct {
	*namespace
	group string
}

func (c gizmoCluster) namespace(t *testing.T, mode string) *gizmos {
	t.Helper()
	return &gizmos{namespace: newNamespace(t, mode), group: c.group}
}

// resource returns the resource of gizmos in a version, in the syntax of kubectl.
func (g *gizmos) resource(version string) string { return "gizmos." + version + "." + g.group }

// manifest returns the gizmo web with fields ("replicas=3", "color=red") and rules ("rule=color"), in the layout of a version.
func (g *gizmos) manifest(version string, fields ...string) string {
	g.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(g.group + "/" + version)
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
			g.Fatal(err)
		}
	}
	text, err := json.Marshal(o.Object)
	if err != nil {
		g.Fatal(err)
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

// in returns the gizmo web in a version. It verifies that the other version has the same fields.
func (g *gizmos) in(version string) *unstructured.Unstructured {
	g.Helper()
	objects := map[string]*unstructured.Unstructured{}
	for _, v := range []string{"v1", "v2"} {
		g.kind = g.resource(v)
		objects[v] = g.object()
	}
	converted, err := convertGizmo(objects["v1"].Object, objects["v2"].GetAPIVersion())
	if err != nil {
		g.Fatal(err)
	}
	if diff := cmp.Diff(objects["v2"].Object, converted); diff != "" {
		g.Errorf("the versions differ (-v2 +v1 as v2):\n%s", diff)
	}
	g.kind = g.resource(version)
	return objects[version]
}

// want checks fields, each as "name=value", without a value for a missing field.
func (g *gizmos) want(fields ...string) {
	g.Helper()
	o := g.in("v2")
	for _, f := range fields {
		name, want, _ := strings.Cut(f, "=")
		value, found := field(o, gizmoPath("v2", name)...)
		got := ""
		if text, err := json.Marshal(value); err == nil && found {
			got = strings.Trim(string(text), `"`)
		}
		if got != want {
			g.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// scale scales the gizmo web to 7 in a version.
func (g *gizmos) scale(version string) {
	g.Helper()
	g.kubectl("scale", g.resource(version), "web", "--replicas=7")
}

// patch patches fields as a controller in a version.
func (g *gizmos) patch(version string, fields ...string) {
	g.Helper()
	g.kubectl("patch", g.resource(version), "web", "--type=merge", "--field-manager=painter", "-p", g.manifest(version, fields...))
}

// autoscaled creates an autoscaler that never scales, and waits until handoff knows that it targets the gizmo web.
func (g *gizmos) autoscaled(version string) {
	g.Helper()
	g.kubectl("create", "-f", g.file("hpa.yaml", `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 1, maxReplicas: 20, scaleTargetRef: {apiVersion: `+g.group+`/v1, kind: Gizmo, name: web}}`))
	manifest := g.manifest(version, "replicas=19", "note=probe") // an apply of replicas alone is not that of a manifest
	g.eventually("handoff knows of the autoscaler", func() bool {
		r := g.run(manifest, "apply", "--server-side", "--force-conflicts", "--field-manager=probe", "--dry-run=server", "-f", "-")
		return strings.Contains(r.stderr, "HorizontalPodAutoscaler")
	})
}

// entries returns the field sets of managers other than appliers, by manager, version and subresource.
func (g *gizmos) entries(o *unstructured.Unstructured) map[string]string {
	g.Helper()
	found := map[string]string{}
	for _, e := range o.GetManagedFields() {
		if isOthers(e) {
			found[e.Manager+" "+e.APIVersion+" "+e.Subresource] = string(e.FieldsV1.GetRawBytes())
		}
	}
	return found
}

func isOthers(e metav1.ManagedFieldsEntry) bool {
	return e.Operation == metav1.ManagedFieldsOperationUpdate && e.Manager != "kubectl-client-side-apply"
}

// entriesStay checks that an apply does not change the managedFields entries of other managers.
func (g *gizmos) entriesStay(what string, apply func()) {
	g.Helper()
	before := g.entries(g.in("v2"))
	if len(before) == 0 {
		g.Fatal("only the applier has written the object")
	}
	apply()
	if diff := cmp.Diff(before, g.entries(g.in("v2"))); diff != "" {
		g.Errorf("%s: the entries of others (-before +after):\n%s", what, diff)
	}
}

// eachWay runs a test for client-side and server-side apply, with other writers that use the applied version or the other one,
// in both directions.
func (c gizmoCluster) eachWay(t *testing.T, play func(t *testing.T, way gizmoWay)) {
	t.Helper()
	ways := []gizmoWay{
		{applied: "v2", written: "v1"}, {applied: "v1", written: "v2"},
		{applied: "v2", written: "v1", args: []string{"--server-side", "--force-conflicts"}},
		{applied: "v1", written: "v2", args: []string{"--server-side", "--force-conflicts"}},
	}
	if c.stored == "v2" {
		ways = append(ways, gizmoWay{applied: "v2", written: "v2"})
	}
	for _, way := range ways {
		way.gizmoCluster = c
		side := "client-side"
		if way.args != nil {
			side = "server-side"
		}
		t.Run("written through "+way.written+", applied "+side+" in "+way.applied, func(t *testing.T) {
			t.Parallel()
			play(t, way)
		})
	}
}

type gizmoWay struct {
	gizmoCluster

	applied, written string
	args             []string
}

func (w gizmoWay) serverSide() bool { return w.args != nil }

// apply applies fields in the version of the way twice, and verifies that the second apply changes nothing.
func (w gizmoWay) apply(g *gizmos, fields ...string) result {
	g.Helper()
	r := g.apply(g.manifest(w.applied, fields...), w.args...)
	g.in(w.applied)
	g.unchangedBy("a second unchanged apply", func() { g.apply(g.manifest(w.applied, fields...), w.args...) })
	return r
}

func TestVersionsOfACustomResourceWithDifferentLayouts(t *testing.T) {
	t.Parallel()
	localOnly(t)
	for _, stored := range []string{"v1", "v2"} {
		t.Run("stored in "+stored, func(t *testing.T) {
			t.Parallel()
			c := withGizmos(t, stored)
			t.Run("all", func(t *testing.T) { // ends before the CRD is deleted
				for sentence, play := range map[string]func(*testing.T, gizmoWay){
					"replicas of an autoscaler":                            playAutoscaled,
					"replicas of an autoscaler, removed with their parent": playAutoscaledBlock,
					"replicas set with kubectl scale":                      playScaled,
					"a controller's field":                                 playRuled,
					"a controller's field, removed with its parent":        playRuledBlock,
					"a path that is another field in the other version":    playSamePath,
					"fields without a rule":                                playUnruled,
				} {
					if stored == "v1" && !inBothStorages(sentence) {
						continue // the webhook sees the same with the other storage version
					}
					t.Run(sentence, func(t *testing.T) {
						t.Parallel()
						c.eachWay(t, play)
					})
				}
				t.Run("a manifest that moves from one version to another", func(t *testing.T) {
					t.Parallel()
					playMoves(t, c)
				})
			})
		})
	}
}

// inBothStorages reports whether a scenario runs with both storage versions.
func inBothStorages(sentence string) bool {
	return sentence == "replicas of an autoscaler" || sentence == "a controller's field"
}

func playAutoscaled(t *testing.T, way gizmoWay) {
	t.Helper()
	g := way.namespace(t, "enforce")
	g.apply(g.manifest(way.applied, "replicas=3", "color=red"), way.args...)
	g.autoscaled(way.applied)
	g.scale(way.written)
	g.entriesStay("an apply that sets replicas", func() {
		if r := way.apply(g, "replicas=3", "color=red"); len(r.warnings()) != 2 || !strings.HasPrefix(r.warnings()[0], "kept .spec.") {
			t.Errorf("want a warning about a kept field, and how to hand it back, got %q", r.warnings())
		}
	})
	g.want("replicas=7", "color=red")
	g.entriesStay("an apply that sets other replicas and something else", func() { way.apply(g, "replicas=4", "color=blue") })
	g.want("replicas=7", "color=blue")
	g.entriesStay("an apply that drops replicas", func() { way.apply(g, "color=green") })
	g.want("replicas=7", "color=green")
}

func playAutoscaledBlock(t *testing.T, way gizmoWay) {
	t.Helper()
	g := way.namespace(t, "enforce")
	g.apply(g.manifest(way.applied, "replicas=3", "burst=9", "color=red"), way.args...)
	g.autoscaled(way.applied)
	g.scale(way.written)
	g.entriesStay("an apply that drops the block", func() { way.apply(g, "color=red") })
	g.want("replicas=7", "color=red")
}

func playScaled(t *testing.T, way gizmoWay) {
	t.Helper()
	with, twin := way.namespace(t, "enforce"), way.namespace(t, "")
	for _, g := range []*gizmos{with, twin} {
		g.apply(g.manifest(way.applied, "replicas=3", "color=red"), way.args...)
		g.scale(way.written)
	}
	with.entriesStay("an apply that drops replicas", func() { way.apply(with, "color=red") })
	with.want("replicas=7", "color=red")
	twin.apply(twin.manifest(way.applied, "color=red"), way.args...)
	if way.serverSide() {
		twin.want("replicas=7")
	} else {
		twin.want("replicas=")
	}
	for _, g := range []*gizmos{with, twin} { // row 6
		way.apply(g, "replicas=4", "color=red")
		g.want("replicas=4")
	}
}

func playRuled(t *testing.T, way gizmoWay) {
	t.Helper()
	g := way.namespace(t, "enforce")
	g.apply(g.manifest(way.applied, "rule=color", "replicas=3", "color=red", "font=a", "note=n"), way.args...)
	g.patch(way.written, "color=pink")
	g.entriesStay("an apply that sets the field", func() {
		if r := way.apply(g, "rule=color", "replicas=3", "color=red", "font=a", "note=n"); len(r.warnings()) != 1 {
			t.Errorf("want one warning, got %q", r.warnings())
		}
	})
	g.want("replicas=3", "color=pink", "font=a", "note=n")
	g.entriesStay("an apply that sets another value", func() {
		way.apply(g, "rule=color", "replicas=3", "color=blue", "font=a", "note=n")
	})
	g.want("color=pink", "note=n")
	g.entriesStay("an apply that drops the field", func() { way.apply(g, "rule=color", "replicas=3", "font=a", "note=n") })
	g.want("color=pink", "font=a", "note=n")
	g.entriesStay("an apply that drops something else", func() { way.apply(g, "rule=color", "replicas=3", "font=a") })
	g.want("color=pink", "font=a", "note=")
	way.apply(g, "replicas=3", "color=blue")
	g.want("color=blue")
}

// playRuledBlock tests that a missing parent comes back with the kept field only.
func playRuledBlock(t *testing.T, way gizmoWay) {
	t.Helper()
	g := way.namespace(t, "enforce")
	g.apply(g.manifest(way.applied, "rule=color", "color=red", "font=a", "replicas=3", "note=n"), way.args...)
	g.patch(way.written, "color=pink")
	g.entriesStay("an apply that drops the block", func() { way.apply(g, "rule=color", "replicas=3", "note=other") })
	g.want("color=pink", "font=", "replicas=3", "note=other")
}

func playSamePath(t *testing.T, way gizmoWay) {
	t.Helper()
	with, twin := way.namespace(t, "enforce"), way.namespace(t, "")
	for _, g := range []*gizmos{with, twin} {
		g.apply(g.manifest(way.applied, "shape=round", "outline=thin", "replicas=3"), way.args...)
		g.patch(way.written, "shape=square")
		r := g.apply(g.manifest(way.applied, "shape=square", "replicas=3"), way.args...)
		if g == with && len(r.warnings()) > 0 {
			t.Errorf("no field of another manager is removed, got %q", r.warnings())
		}
		g.want("shape=square", "outline=")
	}
	wantSameStored(t, way, with, twin)
}

// playUnruled tests that another manager's fields are deleted as without handoff.
func playUnruled(t *testing.T, way gizmoWay) {
	t.Helper()
	with, twin := way.namespace(t, "enforce"), way.namespace(t, "")
	for _, g := range []*gizmos{with, twin} {
		g.apply(g.manifest(way.applied, "note=n", "color=red", "replicas=3"), way.args...)
		g.patch(way.written, "note=mine", "color=pink")
		way.apply(g, "replicas=3")
	}
	wantSameStored(t, way, with, twin)
}

func wantSameStored(t *testing.T, way gizmoWay, with, twin *gizmos) {
	t.Helper()
	with.kind, twin.kind = with.resource(way.applied), twin.resource(way.applied)
	if diff := cmp.Diff(stored(twin.namespace), stored(with.namespace)); diff != "" {
		t.Errorf("the object (-without +with handoff):\n%s", diff)
	}
}

// playMoves applies a manifest in one version, and then the same or a smaller one in the other.
func playMoves(t *testing.T, c gizmoCluster) {
	t.Helper()
	c.eachWay(t, func(t *testing.T, way gizmoWay) {
		t.Helper()
		if way.applied == way.written {
			t.Skip("the way does not change the version")
		}
		for sentence, prepare := range map[string]func(g *gizmos){
			"a workload without an autoscaler":                    func(*gizmos) {},
			"a workload that an autoscaler has scaled":            func(g *gizmos) { g.autoscaled(way.written); g.scale(way.applied) },
			"a workload whose autoscaler did not scale":           func(g *gizmos) { g.autoscaled(way.written) },
			"a workload scaled with kubectl":                      func(g *gizmos) { g.scale(way.written) },
			"a workload scaled with kubectl in the other version": func(g *gizmos) { g.scale(way.applied) },
		} {
			t.Run(sentence, func(t *testing.T) {
				t.Parallel()
				g := way.namespace(t, "enforce")
				g.apply(g.manifest(way.written, "replicas=3", "color=red"), way.args...)
				prepare(g)
				before, _ := field(g.in("v2"), gizmoPath("v2", "replicas")...)
				entries := g.entries(g.in("v2"))
				way.apply(g, "color=red")
				after, _ := field(g.in("v2"), gizmoPath("v2", "replicas")...)
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("replicas (-before +after):\n%s", diff)
				}
				if diff := cmp.Diff(entries, g.entries(g.in("v2"))); diff != "" {
					t.Errorf("the entries of others (-before +after):\n%s", diff)
				}
				g.want("color=red")
			})
		}
	})
}
