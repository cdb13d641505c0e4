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

func textOf(path fieldpath.Path) string { return explain.Text(path) }

// predicted is the machine-readable output of a preview.
type predicted struct {
	Fields []struct {
		Path          string
		Live, Without json.RawMessage
	}
}

func TestGeneratedPreviewsMatchKubectlApply(t *testing.T) {
	seed := seedOf(t)
	yard := newYard(t, "preview")
	outcomes := map[string]int{}
	for n := range generate.previews {
		s := newScenario(t, seed^1, n, yard)
		outcomes[s.preview()]++
		if t.Failed() {
			t.Fatalf("scenario %d of seed %d", n, seed)
		}
	}
	t.Logf("outcomes: %v", outcomes)
}

// preview runs one preview and the apply, and returns the outcome.
func (s scenario) preview() string {
	s.Helper()
	play(s.T, s.apply+s.write("first", s.generator.yaml(s.generator.manifest(s.kind, s.name)))+" -n "+s.yard)
	s.changeByHand()
	manifest := s.generator.manifest(s.kind, s.name)
	if s.generator.random.IntN(10) == 0 {
		metadata(s.T, manifest)["resourceVersion"] = "1"
	}
	if s.generator.random.IntN(10) == 0 && s.kind == "Deployment" { // immutable: the API server rejects it
		manifest["spec"].(object)["selector"] = object{"matchLabels": object{"app": "other"}} //nolint:forcetypeassert // of the generator
	}
	file := s.write("second", s.generator.yaml(manifest))
	before := s.live()
	flags := strings.TrimSuffix(strings.TrimPrefix(s.apply, "apply "), "-f ")
	said := handoff(s.T, cluster.controlPlane.Kubeconfig, "preview "+flags+" -f "+file+" -n "+s.yard+" -o json")
	if output, err := kubectl(append(strings.Fields(s.apply+file), "-n", s.yard)...); err != nil {
		if !strings.Contains(said, "[exit code 2]") {
			s.Errorf("kubectl apply fails, which the preview does not predict: %v %s\n%s", err, output, said)
		}
		return "rejected"
	}
	after := s.live()
	if strings.Contains(said, "[exit code 2]") {
		s.Errorf("kubectl apply succeeds, but the preview predicts a failure:\n%s", said)
		return ""
	}
	_, text, _ := strings.Cut(said, "\n{") // after warnings of the API server
	text = "{" + text
	var list struct{ Items []predicted }
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&list); err != nil || len(list.Items) != 1 {
		s.Fatal(err, said)
	}
	got := list.Items[0]
	var places []string
	for _, f := range got.Fields {
		path := pathOf(s.T, f.Path)
		for _, c := range []struct {
			when      string
			got, want []byte
		}{{"live", settledAnnotations(path, f.Live), shown(before, path)}, {"without", settledAnnotations(path, f.Without), shown(after, path)}} {
			if !bytes.Equal(c.got, c.want) && !sameValue(c.got, c.want) {
				s.Errorf("%s, %s: got %s, want %s\n%s", f.Path, c.when, c.got, c.want, said)
			}
		}
		for _, o := range []ownership.Object{before, after} {
			if pointer, ok := o.Pointer(path); ok {
				places = append(places, pointer)
			}
		}
	}
	for _, changed := range differences("", content(s.T, before), content(s.T, after)) {
		near := func(place string) bool {
			return strings.HasPrefix(changed+"/", place+"/") || strings.HasPrefix(place+"/", changed+"/")
		}
		if !slices.ContainsFunc(places, near) {
			s.Errorf("%s changes, which the preview does not predict:\n%s", changed, said)
		}
	}
	if len(got.Fields) == 0 {
		return "unchanged"
	}
	return "changed"
}

// shown returns a value as a preview shows it: without last-applied, and nil if nothing else remains.
func shown(o ownership.Object, path fieldpath.Path) []byte {
	return settledAnnotations(path, o.Value(path))
}

// settledAnnotations removes the last-applied annotation, and that of the Deployment controller, which writes at any time.
func settledAnnotations(path fieldpath.Path, value []byte) []byte {
	if len(path) == 2 && textOf(path) == ".metadata.annotations" && value != nil {
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
