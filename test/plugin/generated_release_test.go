package plugin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// seedOf returns the seed of the generators: the given one, or the current time.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := generate.seed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d: repeat with -args -seed=%d", seed, seed)
	return seed
}

// scenario is a generated test of one object.
type scenario struct {
	*testing.T
	generator        generator
	yard, kind, name string
	apply            string
}

func newScenario(t *testing.T, seed uint64, n int, yard string) scenario {
	t.Helper()
	s := scenario{T: t, generator: newGenerator(seed, n), yard: yard}
	s.kind = []string{"Deployment", "Deployment", "Deployment", "Service", "ConfigMap"}[s.generator.random.IntN(5)]
	s.name = fmt.Sprintf("web-%d", n)
	s.apply = []string{"apply -f ", "apply -f ", "apply --server-side -f "}[s.generator.random.IntN(3)]
	return s
}

func (s scenario) target() string { return strings.ToLower(s.kind) + "/" + s.name }

// write writes a manifest, an object or its text, and returns the file and the text.
func (s scenario) write(name string, manifest any) (file, text string) {
	s.Helper()
	text, isText := manifest.(string)
	if !isText {
		encoded, err := yaml.Marshal(manifest)
		if err != nil {
			s.Fatal(err)
		}
		text = string(encoded)
	}
	file = filepath.Join(cluster.controlPlane.Dir, s.name+"-"+name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return file, text
}

// play applies a manifest.
func (s scenario) play(apply, name string, manifest any) {
	s.Helper()
	file, _ := s.write(name, manifest)
	play(s.T, apply+file+" -n "+s.yard)
}

func (s scenario) live() ownership.Object {
	s.Helper()
	return stored(s.T, s.target(), s.yard)
}

// changeByHand makes a random change as a user does.
func (s scenario) changeByHand() {
	s.Helper()
	steps := []string{"annotate " + s.target() + " team=theirs --overwrite", "label " + s.target() + " tier=back --overwrite"}
	if s.kind == "Deployment" {
		steps = append(steps, "scale "+s.target()+" --replicas=4", "set image "+s.target()+" a=registry.invalid/a:3", "set env "+s.target()+" -c a A=theirs")
	}
	if n := s.generator.random.IntN(len(steps) + 1); n < len(steps) {
		play(s.T, steps[n]+" -n "+s.yard)
	}
}

func TestGeneratedReleasesSurviveAndRefusalsAreCorrect(t *testing.T) {
	seed := seedOf(t)
	yard := newYard(t, "generated")
	released, refused := 0, map[string]int{}
	for n := range generate.releases {
		s := newScenario(t, seed, n, yard)
		switch why := s.release(); why {
		case "":
			released++
		default:
			refused[why]++
		}
		if t.Failed() {
			t.Fatalf("scenario %d of seed %d", n, seed)
		}
	}
	t.Logf("%d released, refused: %v", released, refused)
	if generate.releases >= 20 && released < generate.releases/4 {
		t.Errorf("only %[2]d of %[1]d releases succeed: the generator generates too few releasable fields", generate.releases, released)
	}
}

// release runs one release, and returns why it was refused, or "".
func (s scenario) release() string {
	s.Helper()
	manifest := s.generator.manifest(s.kind, s.name)
	before, text := s.write("before", manifest)
	play(s.T, s.apply+before+" -n "+s.yard)
	s.changeByHand()
	field := s.field(manifest)
	if field == "" {
		return "nothing to release"
	}
	live := s.live()
	said := handoff(s.T, cluster.controlPlane.Kubeconfig, "release "+s.target()+" "+field+" -n "+s.yard)
	without, err := json.Marshal(manifest)
	if err != nil {
		s.Fatal(err)
	}
	declared := jsontree.Valid(without)
	declared.Cut(pathOf(s.T, field), neverEmptied)
	without = declared.Remaining()
	if !strings.Contains(said, "[exit code 0]") {
		return s.isTrue(said, field, before, without, live)
	}
	after := removeAdvised(s.T, said, field, text)
	var got, want any
	if err := yaml.Unmarshal(after, &got); err != nil {
		s.Fatalf("%s: %v\n%s\nof\n%s", said, err, after, text)
	}
	if err := json.Unmarshal(without, &want); err != nil {
		s.Fatal(err)
	}
	if diff := cmp.Diff(pruned(want), pruned(got)); diff != "" {
		s.Errorf("%s\nthe manifest without it (-want +got):\n%s\nof\n%s", said, diff, text)
		return ""
	}
	apply := strings.Replace(s.apply, "--server-side", "--server-side --force-conflicts", 1) // the user's change conflicts
	s.play(apply, "after", string(after))
	if was, is := live.Value(pathOf(s.T, field)), s.live().Value(pathOf(s.T, field)); !bytes.Equal(was, is) && !sameValue(was, is) {
		s.Errorf("%s\nthe value was %s, and is %s", said, was, is)
	}
	return ""
}

func sameValue(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// pruned returns a value without empty parts.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := map[string]any{}
		for name, part := range v {
			if part = pruned(part); part != nil {
				o[name] = part
			}
		}
		if len(o) > 0 {
			return o
		}
		return nil
	case []any:
		l := []any{}
		for _, part := range v {
			if part = pruned(part); part != nil {
				l = append(l, part)
			}
		}
		if len(l) > 0 {
			return l
		}
		return nil
	default:
		return v
	}
}

// field returns a random field that the manifest declares, or an ancestor of one.
func (s scenario) field(manifest object) string {
	s.Helper()
	text, err := json.Marshal(manifest)
	if err != nil {
		s.Fatal(err)
	}
	declared, err := ownership.ParseObject(text)
	if err != nil {
		s.Fatal(err)
	}
	said := handoff(s.T, cluster.controlPlane.Kubeconfig, "explain "+s.target()+" -n "+s.yard+" -o json")
	_, said, _ = strings.Cut(said, "\n")
	if strings.Contains(said, "no managedFields, so") { // a manifest with only a name, applied server-side
		return ""
	}
	var explained struct {
		Fields []struct{ Path, Manifest string }
	}
	if err := json.NewDecoder(strings.NewReader(said)).Decode(&explained); err != nil {
		s.Fatal(err, said)
	}
	var fields []string
	for _, f := range explained.Fields {
		path := pathOf(s.T, f.Path)
		for n := len(path); n > 1; n-- {
			if declared.Value(path[:n]) != nil && (n == len(path) || s.generator.random.IntN(4) == 0) {
				fields = append(fields, textOf(path[:n]))
			}
		}
	}
	if fields == nil {
		return ""
	}
	return fields[s.generator.random.IntN(len(fields))]
}

// isDefault reports whether the API server defaults a field to the same value when the field is removed.
func (s scenario) isDefault(field string, live ownership.Object) bool {
	s.Helper()
	pointer, _ := live.Pointer(pathOf(s.T, field))
	text, err := kubectl("patch", s.target(), "-n", s.yard, "--type=json", "--dry-run=server", "-o", "json",
		"-p", fmt.Sprintf(`[{"op":"remove","path":%q}]`, pointer))
	if err != nil {
		return false
	}
	_, text, _ = strings.Cut("\n"+text, "\n{") // after warnings of the API server
	without, err := ownership.ParseObject([]byte("{" + text))
	return err == nil && sameValue(live.Value(pathOf(s.T, field)), without.Value(pathOf(s.T, field)))
}

// isTrue verifies the reason of a refusal, and returns its kind.
func (s scenario) isTrue(said, field, before string, without []byte, live ownership.Object) string {
	s.Helper()
	switch {
	case strings.Contains(said, "cannot be applied"):
		if output, err := kubectl(append(strings.Fields(s.apply+before), "-n", s.yard, "--dry-run=server")...); err == nil {
			s.Errorf("%s\nkubectl applies it: %s", said, output)
		}
		return "cannot be applied"
	case strings.Contains(said, "would still change it") && s.isDefault(field, live):
		return "would be deleted and defaulted to the same value" // release does not know defaults
	case strings.Contains(said, "would still change it"):
		reduced, _ := s.write("reduced", string(without))
		for _, step := range []string{"apply set-last-applied -f ", "apply -f "} {
			if _, err := kubectl(append(strings.Fields(step+reduced), "-n", s.yard)...); err != nil {
				return "would still change it: rejected"
			}
		}
		if is := s.live().Value(pathOf(s.T, field)); sameValue(live.Value(pathOf(s.T, field)), is) {
			s.Errorf("%s\nby hand, the value stays %s", said, is)
		}
		return "would still change it"
	case strings.Contains(said, "would not create the object"):
		created := strings.Replace(string(without), `"name":"`+s.name+`"`, `"name":"`+s.name+`-new"`, 1)
		file, _ := s.write("new", created)
		if output, err := kubectl("create", "-f", file, "-n", s.yard, "--dry-run=server"); err == nil {
			s.Errorf("%s\nkubectl creates it: %s", said, output)
		}
		return "would not be created"
	}
	if strings.Contains(said, "no manifest is recorded, ") && strings.Contains(s.apply, "--server-side") {
		return "no manifest is recorded" // a user has taken over all fields that it managed
	}
	for _, sort := range []string{
		"identifies the object", "is a key of its list element", "list without keys", "is part of", "or record what was applied",
	} {
		if strings.Contains(said, sort) {
			return sort
		}
	}
	s.Errorf("refused for another reason:\n%s", said)
	return ""
}
