package webhook_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/ownership"
)

// history is what happened to an object until a write is reviewed: a manifest, what others wrote since, and the next manifest.
type history struct {
	serverSide bool
	before     settings // of the manifest that was applied first
	after      settings // of the one that is applied now
	// wrote is who set a field last, where that is not the manifest.
	wrote map[int]string
	// ruled are the fields that rules give to controllers.
	ruled []int

	live, incoming string
}

const anyFieldStories = 1500

// TestAnyFieldFollowsTheDecisionTable generates histories and compares each field's value with rows 1, 2, 3, 5, 6
// and 8, written down here once more, and the whole object against the documented manual procedure on a twin: the fields
// that were kept are taken out of the annotation and out of the manifest, and the manifest is applied.
func TestAnyFieldFollowsTheDecisionTable(t *testing.T) {
	w, kept := newAPIServer(t), map[string]int{}
	for seed := range uint64(anyFieldStories) {
		random := seeded(seed)
		s := newHistory(t, w, random)
		server := newServer(t, &fakeCluster{modes: map[string]string{"shop": "enforce"}})
		server.Rules = rulesFor(t, s.ruled)
		body := []byte(s.review().body())
		response := checkResponse(t, server, body)
		patched := s.incoming
		if response.Patch != nil {
			patched = patchedBy(t, s.incoming, response.Patch)
			if again := checkResponse(t, server, resend(t, body, response)); again.Patch != nil {
				t.Errorf("sent again, it is patched again: %s", again.Patch)
			}
		}
		want, keeps := s.expected(t)
		if diff := cmp.Diff(want, read(t, patched)); diff != "" {
			t.Errorf("settings (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(s.byHand(t, w, keeps), timeless(t, patched)); !s.serverSide && diff != "" {
			t.Errorf("the object (-by hand +by handoff):\n%s", diff)
		}
		for i, row := range keeps {
			kept[fmt.Sprintf("row %d of %s", row, knobs()[i].path)]++
		}
		if failedOpen(response) || t.Failed() {
			t.Fatalf("seed %d: %+v\npatch %s\nwarnings %q", seed, s, response.Patch, response.Warnings)
		}
	}
	for _, k := range knobs() {
		for row := 1; row <= 3; row++ {
			if n := kept[fmt.Sprintf("row %d of %s", row, k.path)]; n < 5 {
				t.Errorf("row %d of %s was decided %d times: that proves little", row, k.path, n)
			}
		}
	}
}

// newHistory generates a history.
func newHistory(t *testing.T, w apiServer, random *rand.Rand) history {
	t.Helper()
	s := history{serverSide: random.IntN(4) == 0, wrote: map[int]string{}}
	apply := w.apply
	if s.serverSide {
		apply = w.applyServerSide
	}
	s.before, s.after = manifestOf(random, false), manifestOf(random, !s.serverSide)
	s.live = apply(t, settings{}.manifest(t), s.before.manifest(t))
	for range random.IntN(6) {
		i, by := random.IntN(len(knobs())), []string{"vpa", "my-operator", "kubectl-patch", "kubectl-edit"}[random.IntN(4)]
		value := knobs()[i].text(random.IntN(3))
		if read(t, s.live)[i] == value {
			continue // a write that changes nothing makes nobody an owner
		}
		s.live = w.patch(t, s.live, by, fmt.Sprintf(knobs()[i].manifest, value))
		s.wrote[i] = by
	}
	for i := range knobs() {
		if random.IntN(2) == 0 {
			s.ruled = append(s.ruled, i)
		}
	}
	s.incoming = apply(t, s.live, s.after.manifest(t))
	return s
}

func manifestOf(random *rand.Rand, nulls bool) settings {
	s := settings{}
	for i, k := range knobs() {
		switch n := random.IntN(5); {
		case n < 3:
			s[i] = k.text(n)
		case n == 3 && nulls:
			s[i] = "null"
		}
	}
	return s
}

func rulesFor(t *testing.T, ruled []int) []ownership.Rule {
	t.Helper()
	rule := ownership.Rule{Group: "apps", Kind: "Deployment"}
	for _, i := range ruled {
		pattern, err := ownership.ParsePattern(knobs()[i].path)
		if err != nil {
			t.Fatal(err)
		}
		rule.Fields = append(rule.Fields, pattern)
	}
	return []ownership.Rule{rule}
}

func (s history) review() request {
	manager := csa
	if s.serverSide {
		manager = "kustomize-controller"
	}
	return request{
		version: "v1", uid: "review-uid", operation: "UPDATE", kind: "Deployment", name: "web", namespace: "shop",
		manager: manager, oldObject: s.live, object: s.incoming,
	}
}

// expected returns what the fields must be afterwards, and by which rows some are as in live.
func (s history) expected(t *testing.T) (want settings, keeps map[int]int) {
	t.Helper()
	live := read(t, s.live)
	want, keeps = maps.Clone(live), map[int]int{}
	for i := range knobs() {
		says, sets := s.after[i]
		_, had := s.before[i]
		by, others := s.wrote[i]
		controlled := others && !strings.HasPrefix(by, "kubectl-") && slices.Contains(s.ruled, i)
		switch {
		case controlled && sets && says != "null":
			keeps[i] = 1
		case controlled && sets:
			keeps[i] = 8
		case controlled && had:
			keeps[i] = 2
		case others && had && !sets && (s.serverSide || live[i] != s.before[i]):
			keeps[i] = 3
		case sets && says != "null":
			want[i] = says // rows 6 and none
		case sets || had:
			delete(want, i) // rows 8 and 5
		}
	}
	return want, keeps
}

// byHand is what the manual procedure makes of the twin.
func (s history) byHand(t *testing.T, w apiServer, keeps map[int]int) map[string]any {
	t.Helper()
	if s.serverSide {
		return nil
	}
	before, after := maps.Clone(s.before), maps.Clone(s.after)
	for i := range keeps {
		delete(before, i)
		delete(after, i)
	}
	live := decode(t, s.live)
	objectIn(at(live, []string{"metadata", "annotations"}))[lastApplied] = before.manifest(t)
	return timeless(t, w.apply(t, encode(live), after.manifest(t)))
}

// withoutEmpty takes out of a decoded manifest the objects that are empty, and those that are empty without them: what was
// kept leaves last-applied together with parents that declare nothing else.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if object, ok := withoutEmpty(member).(map[string]any); ok && len(object) == 0 {
				delete(v, name)
			}
		}
	case []any:
		for _, element := range v {
			withoutEmpty(element)
		}
	}
	return v
}

// timeless is an object without the times of its entries, which are the seconds of a clock, and in the order without.
func timeless(t *testing.T, text string) map[string]any {
	t.Helper()
	document := decode(t, text)
	entries, _ := at(document, []string{"metadata", "managedFields"}).([]any)
	for _, e := range entries {
		remove(e, []string{"time"})
	}
	slices.SortFunc(entries, func(a, b any) int { return strings.Compare(encode(a), encode(b)) })
	if annotations := objectIn(at(document, []string{"metadata", "annotations"})); annotations[lastApplied] != nil {
		manifest, _ := annotations[lastApplied].(string)
		annotations[lastApplied] = encode(withoutEmpty(decode(t, manifest)))
	}
	return document
}

func unstructuredOf(object map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object}
}
