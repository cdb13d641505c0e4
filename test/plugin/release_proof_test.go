package plugin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
	edit "github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/release"
	"github.com/ownership-handoff/handoff/plugin/source"
	"github.com/ownership-handoff/handoff/test/objects"
)

// released is a field to release, with kubectl commands to run before and after. In these, MANIFEST is the manifest; after the
// release, it is the manifest without what release says to remove.
type released struct {
	object, field, value string // value is the expected value before and after
	manifest             string
	before, after        []string
	// want is the expected value if the same commands run without the release.
	want string
	// byHand reports whether the documented procedure for client-side apply has the same result.
	byHand bool
}

const (
	applied        = "apply -f MANIFEST"
	serverSide     = "apply --server-side -f MANIFEST"
	workloadPrefix = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    example.com/team: front
spec:
`
	workloadSuffix = `
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: registry.invalid/web
        resources:
          requests:
            cpu: 100m
      - name: side
        image: registry.invalid/side
`
	workload = workloadPrefix + "  replicas: 3\n  paused: false" + workloadSuffix
)

var (
	replicas  = released{object: "deployment/web", field: ".spec.replicas", manifest: workload, value: "7", want: "1"}
	resources = released{
		object: "deployment/web", field: ".spec.template.spec.containers[name=\"app\"].resources", manifest: workload,
		value: `{"requests":{"cpu":"300m"}}`, want: "{}",
	}
	cpuPatch = `patch deployment web -p {"spec":{"template":{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"300m"}}}]}}}}`
)

func (r released) with(byHand bool, before []string, after ...string) released {
	r.byHand, r.before, r.after = byHand, before, after
	return r
}

// releaseCases returns the test cases, by description.
func releaseCases() map[string]released {
	scaledByHand := []string{applied, "scale deployment web --replicas=7"}
	still := replicas
	still.value = "3"
	resourcesServerSide := resources.with(false, []string{serverSide}, serverSide)
	resourcesServerSide.value = `{"requests":{"cpu":"100m"}}`
	gadget := released{
		object: "gadget/web", field: ".spec.pool.size", value: "5", want: "",
		manifest: "apiVersion: shop.example.com/v1\nkind: Gadget\nmetadata: {name: web}\nspec:\n  pool:\n    size: 3\n  zone: a\n",
	}
	gadgetApplied := gadget
	gadgetApplied.value = "3"
	return map[string]released{
		"client-side, scaled by the autoscaler": replicas.with(true, []string{
			applied, "autoscale deployment web --min=7 --max=20", "wait --for=jsonpath={.spec.replicas}=7 deployment web",
		}, applied),
		"client-side, scaled by a user, twice":      replicas.with(true, scaledByHand, applied, applied),
		"client-side, the resources of a container": resources.with(true, []string{applied, cpuPatch}, applied),
		"client-side, a whole container": released{
			object: "deployment/web", field: `.spec.template.spec.containers[name="side"]`, value: `"side"`, manifest: workload,
		}.with(true, []string{applied}, applied),
		"client-side, a field with an emptied parent": released{
			object: "deployment/web", field: ".spec.strategy.rollingUpdate.maxSurge", value: "5", want: `"25%"`,
			manifest: workloadPrefix + "  strategy:\n    rollingUpdate:\n      maxSurge: 2" + workloadSuffix,
		}.with(true, []string{applied, `patch deployment web -p {"spec":{"strategy":{"rollingUpdate":{"maxSurge":5}}}}`}, applied),
		"client-side, an annotation": released{
			object: "deployment/web", field: `.metadata.annotations["example.com/team"]`, value: `"back"`, manifest: workload, want: "",
		}.with(true, []string{applied, "annotate deployment web example.com/team=back --overwrite"}, applied),
		"client-side, a custom resource": gadget.with(true, []string{applied, `patch gadget web --type=merge -p {"spec":{"pool":{"size":5}}}`}, applied),
		"client-side, data of a Secret": released{
			object: "secret/web", field: ".data.token", value: `"bmV3"`, want: "",
			manifest: "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\ndata:\n  token: b2xk\n  user: bWU=\n",
		}.with(true, []string{applied, `patch secret web -p {"data":{"token":"bmV3"}}`}, applied),
		"server-side, with an autoscaler, twice":    still.with(false, []string{serverSide, "autoscale deployment web --min=1 --max=20"}, serverSide, serverSide),
		"server-side, the resources of a container": resourcesServerSide,
		"server-side, a custom resource":            gadgetApplied.with(false, []string{serverSide}, serverSide),
		// The managedFields entry of /scale contains the field, but not its parents.
		"server-side, a custom resource, scaled":            gadget.with(false, []string{serverSide, "scale gadget web --replicas=5"}, serverSide),
		"client-side, then server-side, a custom resource":  gadgetApplied.with(false, []string{applied}, serverSide),
		"client-side, then server-side, a container":        resourcesServerSide.with(false, []string{applied}, serverSide),
		"server-side after client-side":                     still.with(false, []string{applied, serverSide}, serverSide),
		"server-side after client-side, back to the former": still.with(false, []string{applied, serverSide}, applied),
		"client-side after server-side":                     still.with(false, []string{serverSide, applied}, applied, serverSide),
		// A user's fields and the annotation are in one managedFields entry, as after a kubectl edit of both.
		"edited by a user, including the annotation": still.with(false, []string{
			applied, "scale deployment web --replicas=9",
			`annotate deployment web --overwrite --field-manager=kubectl-edit kubectl.kubernetes.io/last-applied-configuration={"spec":{"replicas":9}}`,
			`patch deployment web --field-manager=kubectl-edit -p {"spec":{"replicas":3}}`, "apply -f MANIFEST --field-manager=kubectl-edit",
		}, serverSide),
	}
}

func TestReleasedFieldSurvivesTheNextApply(t *testing.T) {
	for name, r := range releaseCases() {
		t.Run(name, func(t *testing.T) {
			yards := map[string]string{}
			for _, yard := range []string{"released", "left", "byhand"}[:map[bool]int{true: 3, false: 2}[r.byHand]] {
				yards[yard] = newYard(t, yard)
			}
			before, after := files(t, r.manifest)
			for _, yard := range yards {
				r.play(t, yard, before, r.before)
			}
			if got := r.valueIn(t, yards["released"]); got != r.value {
				t.Fatalf("before: %s is %s, want %s", r.field, got, r.value)
			}
			said := handoff(t, cluster.controlPlane.Kubeconfig, "release "+r.object+" "+r.field+" -n "+yards["released"])
			if !strings.Contains(said, "released "+r.field+"\n") || !strings.Contains(said, "[exit code 0]") {
				t.Fatal(said)
			}
			r.wantReleased(t, yards["released"])
			expect.NoError(t, os.WriteFile(after, removeAdvised(t, said, r.field, r.manifest), 0o600))
			r.play(t, yards["released"], after, r.after)
			expect.Equal(t, "released: "+r.field, r.value, r.valueIn(t, yards["released"]))
			// An autoscaler would scale again at once.
			r.play(t, yards["left"], after, []string{"delete hpa --all", r.after[0]})
			expect.Equal(t, "not released: "+r.field, r.want, r.valueIn(t, yards["left"]))
			if r.byHand {
				r.play(t, yards["byhand"], after, append([]string{"apply set-last-applied -f MANIFEST"}, r.after...))
				storedIn := func(yard string) map[string]any {
					return content(t, strings.ReplaceAll(string(r.live(t, yards[yard]).Text()), yards[yard], "YARD"))
				}
				expect.Equal(t, "by hand and released", storedIn("byhand"), storedIn("released"))
			}
		})
	}
}

// newYard creates a namespace, and deletes it after the test.
func newYard(t *testing.T, name string) string {
	t.Helper()
	name = fmt.Sprintf("yard-%s-%d", name, time.Now().UnixNano())
	play(t, "create namespace "+name)
	t.Cleanup(func() { play(t, "delete namespace --wait=false "+name, "delete hpa --all -n "+name) }) // other tests list all HPAs
	return name
}

// files writes the manifest, and returns its path and that for the manifest without the field.
func files(t *testing.T, manifest string) (before, after string) {
	t.Helper()
	dir, err := os.MkdirTemp(cluster.controlPlane.Dir, "manifests-*") //nolint:usetesting // t.TempDir would contain the commas of the test's name
	expect.NoError(t, err)
	before, after = filepath.Join(dir, "before.yaml"), filepath.Join(dir, "after.yaml")
	objects.Write(t, manifest, before)
	return before, after
}

// removeAdvised removes from a manifest what the output of release says to remove, with parents that become empty. If no record has
// the field, the output says nothing, and it removes the field.
func removeAdvised(t *testing.T, output, field, text string) []byte {
	t.Helper()
	stream, err := edit.Parse(source.Text{Name: "manifest", Content: []byte(text)})
	expect.NoError(t, err)
	if advice := regexp.MustCompile(`(?m)^remove (.*) from the manifest before`).FindStringSubmatch(output); advice != nil {
		field = advice[1]
	}
	path := pathOf(field)
	place := stream.Objects[0].Nearest(path)
	if len(place.Path) != len(path) {
		t.Fatalf("no %s in\n%s\nafter\n%s", field, text, output)
	}
	after, err := stream.Apply(edit.Widen([]*edit.Place{place}))
	expect.NoError(t, err)
	return after
}

func (r released) play(t *testing.T, yard, manifest string, steps []string) {
	t.Helper()
	for _, step := range steps {
		play(t, strings.ReplaceAll(step, "MANIFEST", manifest)+" -n "+yard)
	}
}

func (r released) live(t *testing.T, yard string) ownership.Object {
	t.Helper()
	return stored(t, r.object, yard)
}

// valueIn returns the field's value as compact JSON, or the name of a list element.
func (r released) valueIn(t *testing.T, yard string) string {
	t.Helper()
	field := r.field
	if r.value == `"side"` {
		field += ".name"
	}
	value := r.live(t, yard).Value(pathOf(field))
	if value == nil {
		return ""
	}
	return string(jsontest.Encode(t, jsontest.Decode(t, value)))
}

// wantReleased verifies that no applier manages the field, and that another manager does unless an autoscaler owns it.
func (r released) wantReleased(t *testing.T, yard string) {
	t.Helper()
	entries, err := r.live(t, yard).Entries()
	expect.NoError(t, err)
	holders := managedfields.For(entries, pathOf(r.field))
	for _, e := range holders {
		if config.Default().Managers().IsApplier(e) || e.Contains(ownership.LastAppliedPath()) {
			t.Errorf("%s %s still manages %s", e.Manager, e.Operation, r.field)
		}
	}
	autoscaled := slices.ContainsFunc(r.before, func(step string) bool { return strings.HasPrefix(step, "autoscale deployment ") })
	if len(holders) == 0 && !autoscaled {
		t.Errorf("%s has no manager", r.field)
	}
	for _, e := range entries {
		if e.Manager == release.WriterManager {
			t.Errorf("%s still has an entry: %s", e.Manager, e.Fields.Text())
		}
	}
}

func pathOf(field string) fieldpath.Path {
	path, plain := fieldpattern.MustParse(field)[0].Path()
	if !plain {
		panic(field + " has a wildcard")
	}
	return path
}

// content returns an object without status and server-generated metadata.
func content(t *testing.T, text string) map[string]any {
	t.Helper()
	o, _ := jsontest.Decode(t, []byte(text)).(map[string]any)
	delete(o, "status")
	for _, given := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		delete(metadata(t, o), given)
	}
	if annotations, ok := metadata(t, o)["annotations"].(map[string]any); ok {
		delete(annotations, "deployment.kubernetes.io/revision") // written by the controller at any time
	}
	return o
}
