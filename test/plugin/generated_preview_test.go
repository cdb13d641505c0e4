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

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

func textOf(path fieldpath.Path) string { return explain.Text(path) }

// foretold is what a preview says for programs.
type foretold struct {
	Fields []struct {
		Path          string
		Live, Without json.RawMessage
	}
}

func TestGeneratedPreviewsSayWhatKubectlApplyDoes(t *testing.T) {
	seed := seedOf(t)
	yard := newYard(t, "foretold")
	outcomes := map[string]int{}
	for n := range generate.previews {
		s := newStory(t, seed^1, n, yard)
		outcomes[s.preview()]++
		if t.Failed() {
			t.Fatalf("story %d of seed %d", n, seed)
		}
	}
	t.Logf("outcomes: %v", outcomes)
}

// preview plays one preview and the apply, and returns what came of it.
func (s story) preview() string {
	s.Helper()
	play(s.T, s.apply+s.write("first", s.yaml(s.manifest(s.kind, s.name)))+" -n "+s.yard)
	s.person()
	manifest := s.manifest(s.kind, s.name)
	if s.IntN(10) == 0 {
		metadata(s.T, manifest)["resourceVersion"] = "1"
	}
	if s.IntN(10) == 0 && s.kind == "Deployment" { // which the API server refuses
		manifest["spec"].(object)["selector"] = object{"matchLabels": object{"app": "other"}} //nolint:forcetypeassert // of the generator
	}
	file := s.write("second", s.yaml(manifest))
	before := s.live()
	flags := strings.TrimSuffix(strings.TrimPrefix(s.apply, "apply "), "-f ")
	said := handoff(s.T, cluster.Kubeconfig, "preview "+flags+" -f "+file+" -n "+s.yard+" -o json")
	if output, err := kubectl(append(strings.Fields(s.apply+file), "-n", s.yard)...); err != nil {
		if !strings.Contains(said, "[exit code 2]") {
			s.Errorf("kubectl apply fails: %v %s\nand is not foretold to:\n%s", err, output, said)
		}
		return "refused"
	}
	after := s.live()
	if strings.Contains(said, "[exit code 2]") {
		s.Errorf("kubectl applies what is foretold to be refused:\n%s", said)
		return ""
	}
	_, text, _ := strings.Cut(said, "\n{") // behind warnings of the API server
	text = "{" + text
	var told foretold
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&told); err != nil {
		s.Fatal(err, said)
	}
	var places []string
	for _, f := range told.Fields {
		path := pathOf(s.T, f.Path)
		for _, c := range []struct {
			when      string
			told, was []byte
		}{{"live", settledAnnotations(path, f.Live), shown(before, path)}, {"without", settledAnnotations(path, f.Without), shown(after, path)}} {
			if !bytes.Equal(c.told, c.was) && !sameValue(c.told, c.was) {
				s.Errorf("%s, %s: told %s, is %s\n%s", f.Path, c.when, c.told, c.was, said)
			}
		}
		for _, o := range []ownership.Object{before, after} {
			if at := o.Locate(path); at.Value != nil {
				places = append(places, at.Pointer)
			}
		}
	}
	for _, changed := range differences("", content(s.T, before), content(s.T, after)) {
		near := func(place string) bool {
			return strings.HasPrefix(changed+"/", place+"/") || strings.HasPrefix(place+"/", changed+"/")
		}
		if !slices.ContainsFunc(places, near) {
			s.Errorf("%s changes, and that is not foretold:\n%s", changed, said)
		}
	}
	if len(told.Fields) == 0 {
		return "unchanged"
	}
	return "changed"
}

// shown is a value as a preview shows it: without last-applied, and none where nothing else is in it.
func shown(o ownership.Object, path fieldpath.Path) []byte {
	return settledAnnotations(path, o.Value(path))
}

// settledAnnotations leaves out of annotations what records and controllers put there, the latter when they come to it.
func settledAnnotations(path fieldpath.Path, value []byte) []byte {
	if len(path) == 2 && textOf(path) == ".metadata.annotations" && value != nil {
		value = ownership.Cut(value, ownership.LastAppliedPath()[2:])
		value = ownership.Cut(value, fieldpath.MakePathOrDie("deployment.kubernetes.io/revision"))
		if string(value) == "{}" || strings.TrimSpace(strings.Trim(string(value), "{} \n")) == "" {
			return nil
		}
	}
	return value
}

// differences are JSON pointers to what differs: the innermost objects' members, and lists as a whole.
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
