package plugin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/test/objects"
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
	s := scenario{T: t, generator: generator{rand.New(rand.NewPCG(seed, uint64(n)))}, yard: yard}
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
		expect.NoError(s, err)
		text = string(encoded)
	}
	file = filepath.Join(cluster.controlPlane.Dir, s.name+"-"+name+".yaml")
	objects.Write(s.T, text, file)
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

// TestGeneratedReleasesSurvive releases a random field of a random object, and applies the manifest without it. TestReleaseRefusalsAreOneLine
// has the reasons of refusals.
func TestGeneratedReleasesSurvive(t *testing.T) {
	seed := seedOf(t)
	yard := newYard(t, "generated")
	released, refused := 0, map[string]int{}
	for n := range generate.releases {
		s := newScenario(t, seed, n, yard)
		if why := s.release(); why == "" {
			released++
		} else {
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
	if !strings.Contains(said, "[exit code 0]") {
		return s.reason(said)
	}
	after := removeAdvised(s.T, said, field, text)
	apply := strings.Replace(s.apply, "--server-side", "--server-side --force-conflicts", 1) // the user's change conflicts
	s.play(apply, "after", string(after))
	if was, is := live.Value(pathOf(field)), s.live().Value(pathOf(field)); !bytes.Equal(was, is) && !sameValue(was, is) {
		s.Errorf("%s\nthe value was %s, and is %s", said, was, is)
	}
	return ""
}

func sameValue(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// field returns a random field that the manifest declares, or an ancestor of one.
func (s scenario) field(manifest object) string {
	s.Helper()
	declared, err := ownership.ParseObject(jsontest.Encode(s.T, manifest))
	expect.NoError(s, err)
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
		path := pathOf(f.Path)
		for n := len(path); n > 1; n-- {
			if declared.Value(path[:n]) != nil && (n == len(path) || s.generator.random.IntN(4) == 0) {
				fields = append(fields, explain.Text(path[:n]))
			}
		}
	}
	if fields == nil {
		return ""
	}
	return fields[s.generator.random.IntN(len(fields))]
}

// reason returns the part of a refusal that says why.
func (s scenario) reason(said string) string {
	s.Helper()
	for _, why := range []string{
		"cannot be applied", "would still change it", "would not create the object", "no manifest is recorded, ", "identifies the object",
		"list without keys", "is part of", "or record what was applied",
	} {
		if strings.Contains(said, why) {
			return why
		}
	}
	s.Errorf("refused for another reason:\n%s", said)
	return ""
}
