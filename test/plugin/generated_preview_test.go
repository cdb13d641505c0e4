package plugin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// predicted is the machine-readable output of a preview.
type predicted struct {
	Mode   string
	Keeps  bool
	Acts   *bool
	Gaps   []string
	Fields []struct {
		Path                string
		Live, Without, With json.RawMessage
	}
}

// TestGeneratedPreviewsMatchKubectlApply previews a third of the applies in a namespace without handoff, a third in mode warn and a
// third in mode enforce, where some Deployments have an autoscaler. At most two of a hundred may be incomplete.
func TestGeneratedPreviewsMatchKubectlApply(t *testing.T) {
	seed := seedOf(t)
	t.Run("without handoff", func(t *testing.T) { previewGenerated(t, seed^1, newYard(t, "preview"), "off") })
	t.Run("with handoff", func(t *testing.T) {
		play(t, "apply -f testdata/audit-kinds.yaml", "wait --for=condition=Established --timeout=60s crd/scaledobjects.keda.sh")
		t.Cleanup(func() { play(t, "delete -f testdata/audit-kinds.yaml") })
		startWebhook(t)
		for mode, enable := range map[string]string{"enforce": "enable ", "warn": "enable --warn "} {
			yard := newYard(t, mode)
			if said := handoff(t, cluster.controlPlane.Kubeconfig, enable+yard); !strings.Contains(said, "[exit code 0]") {
				t.Fatal(said)
			}
			outcomes := previewGenerated(t, seed^uint64(len(mode)), yard, mode)
			if few := generate.previews / 25; outcomes["kept"] < few {
				t.Errorf("only %d are kept, want at least %d: the generator generates too few", outcomes["kept"], few)
			}
		}
	})
}

// previewGenerated plays generated scenarios in a namespace, and returns the number of those with each outcome.
func previewGenerated(t *testing.T, seed uint64, yard, mode string) map[string]int {
	t.Helper()
	outcomes, incomplete := map[string]int{}, 0
	for n := range generate.previews / 3 {
		s := newScenario(t, seed, n, yard)
		outcome, gaps := s.preview(mode)
		outcomes[outcome]++
		if len(gaps) > 0 {
			incomplete++
			t.Logf("scenario %d of seed %d is incomplete: %q", n, seed, gaps)
		}
		if t.Failed() {
			t.Fatalf("scenario %d of seed %d", n, seed)
		}
	}
	t.Logf("outcomes: %v, incomplete: %d", outcomes, incomplete)
	if incomplete > max(1, generate.previews/100) {
		t.Errorf("%d of %d are incomplete", incomplete, generate.previews/3)
	}
	return outcomes
}

// addScaler makes a ScaledObject reference a Deployment of the scenario, before it is created. No controller scales it.
func (s scenario) addScaler() {
	s.Helper()
	if s.kind == "Deployment" && s.generator.random.IntN(4) > 0 {
		s.play("create -f ", "scaler", fmt.Sprintf(
			`{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"name":%q},"spec":{"scaleTargetRef":{"name":%[1]q}}}`, s.name))
	}
}

// preview runs one preview in a namespace of a mode, and the apply. It returns the outcome, and what the preview does not know.
func (s scenario) preview(mode string) (outcome string, gaps []string) {
	s.Helper()
	if mode != "off" {
		s.addScaler()
	}
	s.play(s.apply, "first", s.generator.manifest(s.kind, s.name))
	s.changeByHand()
	manifest := s.generator.manifest(s.kind, s.name)
	if s.generator.random.IntN(10) == 0 {
		metadata(s.T, manifest)["resourceVersion"] = "1"
	}
	if s.generator.random.IntN(10) == 0 && s.kind == "Deployment" { // immutable: the API server rejects it
		manifest["spec"].(object)["selector"] = object{"matchLabels": object{"app": "other"}} //nolint:forcetypeassert // of the generator
	}
	file, _ := s.write("second", manifest)
	before := s.live()
	flags := strings.TrimSuffix(strings.TrimPrefix(s.apply, "apply "), "-f ")
	said := handoff(s.T, cluster.controlPlane.Kubeconfig, "preview "+flags+" -f "+file+" -n "+s.yard+" -o json")
	if output, err := kubectl(s.Context(), append(strings.Fields(s.apply+file), "-n", s.yard)...); err != nil {
		if !strings.Contains(said, "[exit code 2]") {
			s.Errorf("kubectl apply fails, which the preview does not predict: %v %s\n%s", err, output, said)
		}
		return "rejected", nil
	}
	if strings.Contains(said, "[exit code 2]") {
		s.Errorf("kubectl apply succeeds, but the preview predicts a failure:\n%s", said)
		return "", nil
	}
	_, text, _ := strings.Cut(said, "\n{") // after warnings of the API server
	var list struct{ Items []predicted }
	if err := json.NewDecoder(strings.NewReader("{" + text)).Decode(&list); err != nil || len(list.Items) != 1 {
		s.Fatal(err, said)
	}
	got := list.Items[0]
	if acts := got.Acts != nil && *got.Acts; got.Mode != mode || acts != (got.Keeps && mode == "enforce") {
		s.Errorf("want mode %s:\n%s", mode, said)
	}
	s.compare(got, mode, before, said)
	switch {
	case got.Keeps:
		return "kept", got.Gaps
	case len(got.Fields) == 0:
		return "unchanged", got.Gaps
	default:
		return "changed", got.Gaps
	}
}

// compare compares a preview with the object after the apply: each of its fields, and each field that has changed.
func (s scenario) compare(got predicted, mode string, before ownership.Object, said string) {
	s.Helper()
	after := s.live()
	var places []string
	for _, f := range got.Fields {
		path, result := pathOf(f.Path), f.Without
		if mode == "enforce" {
			result = f.With
		}
		for _, c := range []struct {
			when      string
			got, want []byte
		}{{"live", settledAnnotations(path, f.Live), shown(before, path)}, {"after", settledAnnotations(path, result), shown(after, path)}} {
			if !bytes.Equal(c.got, c.want) && !sameValue(c.got, c.want) {
				s.Errorf("%s, %s: got %s, want %s\n%s", f.Path, c.when, c.got, c.want, said)
			}
		}
		for _, o := range []ownership.Object{before, after} {
			if at := o.At().Find(path); at != nil {
				places = append(places, at.PointerIn(nil))
			}
		}
	}
	for _, changed := range differences("", withoutLastApplied(s.T, before), withoutLastApplied(s.T, after)) {
		near := func(place string) bool {
			return strings.HasPrefix(changed+"/", place+"/") || strings.HasPrefix(place+"/", changed+"/")
		}
		if !slices.ContainsFunc(places, near) {
			s.Errorf("%s changes, which the preview does not predict:\n%s", changed, said)
		}
	}
}

// shown returns a value as a preview shows it: without last-applied, and nil if nothing else remains.
func shown(o ownership.Object, path fieldpath.Path) []byte {
	return settledAnnotations(path, o.Value(path))
}

// settledAnnotations removes the last-applied annotation, and that of the Deployment controller, which writes at any time.
func settledAnnotations(path fieldpath.Path, value []byte) []byte {
	if len(path) == 2 && explain.Text(path) == ".metadata.annotations" && value != nil {
		annotations := jsontree.Valid(value)
		annotations.Cut(ownership.LastAppliedPath()[2:], neverEmptied)
		annotations.Cut(fieldpath.MakePathOrDie("deployment.kubernetes.io/revision"), neverEmptied)
		value = annotations.Remaining()
		if string(value) == "{}" || strings.TrimSpace(strings.Trim(string(value), "{} \n")) == "" {
			return nil
		}
	}
	return value
}

func neverEmptied(fieldpath.Path) bool { return false }

func withoutLastApplied(t *testing.T, o ownership.Object) map[string]any {
	t.Helper()
	of := content(t, string(o.Text()))
	if annotations, ok := metadata(t, of)["annotations"].(map[string]any); ok {
		delete(annotations, ownership.LastAppliedAnnotation)
		if len(annotations) == 0 {
			delete(metadata(t, of), "annotations")
		}
	}
	return of
}

// differences returns JSON pointers to the innermost members that differ. Lists are compared as a whole.
func differences(at string, a, b any) (found []string) {
	left, isObject := a.(map[string]any)
	right, areObjects := b.(map[string]any)
	if !isObject || !areObjects {
		if fmt.Sprint(a) != fmt.Sprint(b) {
			found = append(found, at)
		}
		return found
	}
	names := maps.Clone(left)
	maps.Copy(names, right)
	for name := range names {
		place := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		found = append(found, differences(place, left[name], right[name])...)
	}
	return found
}
