package webhook_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/test/document"
)

var (
	reviews   = flag.Int("reviews", 1_000, "how many reviews TestTheScaleFieldAlone generates for each of its two parts")
	firstSeed = flag.Uint64("first-seed", 0, "the seed of the first review")
)

// onceWrong are the seeds of reviews that had another answer: a rule on managedFields or on the parent of the scale field, a 0 of the
// manifest under a rule, a dry run that replaces a custom resource, a last-applied annotation that is empty or of another object, and
// a rule on everything.
var onceWrong = []uint64{6187, 7157, 10324, 17053, 31983, 56117, 56984, 105450}

// TestTheScaleFieldAlone generates reviews in which everything beside the scale field is hostile, and compares what becomes of the
// scale field with the model: it is kept in each of the first part, and the manifest wins in each of the second. -args -reviews=10000
// generates 10,000 for each. A failure prints the flags that repeat its review, as -first-seed=7 -reviews=1.
func TestTheScaleFieldAlone(t *testing.T) {
	t.Parallel()
	number := *reviews
	if testing.Short() || race.Enabled {
		number = min(number, 200)
	}
	for part, want := range map[string]outcome{"kept": kept, "the manifest wins": through} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			d, w := deploymentKind(t), widgetKind(t)
			kinds, f := []objectKind{d, d, w}, newFindings()
			if *firstSeed == 0 {
				for _, seed := range onceWrong {
					f.checkScale(t, kinds, seed, want)
				}
			}
			for seed := *firstSeed; f.checked < number; seed++ {
				f.checkScale(t, kinds, seed, want)
			}
			f.report(t)
		})
	}
}

const historiesOfAKind = 600

// TestHistoriesFollowTheDecisionTable generates histories of all fields and compares the result of the last apply with the model:
// the scale field, the fields that rules name and the units of docs/decisions.md are kept where they should be, with their
// managedFields, and everything else is as it was sent.
func TestHistoriesFollowTheDecisionTable(t *testing.T) {
	for _, newKind := range []func(*testing.T) objectKind{deploymentKind, configMapKind, widgetKind} {
		k := newKind(t)
		t.Run(k.gvk.Kind, func(t *testing.T) {
			f := newFindings()
			for seed := range uint64(historiesOfAKind) {
				h := generateHistory(t, k, seeded(seed), true)
				if expected := h.outcomes(); h.recognized() && (k.scale == nil || expected[0] != unknown) {
					f.add(t, h.asSent(t), seed, expected)
				}
			}
			f.report(t)
			for _, what := range []string{"a ruled field kept", "a unit kept"} {
				if f.seen[what] < 15 && (what != "a unit kept" || k.merging != nil) {
					t.Errorf("%s: only in %d histories, which proves little", what, f.seen[what])
				}
			}
		})
	}
}

// findings counts what was checked and found.
type findings struct {
	checked  int
	differ   int // reviews whose write changes the scale field
	losses   map[string]int
	examples map[string]string
	seen     map[string]int
}

func newFindings() *findings {
	return &findings{losses: map[string]int{}, examples: map[string]string{}, seen: map[string]int{}}
}

// checkScale generates a review and, if its expected outcome is the one wanted, compares the answer with it.
func (f *findings) checkScale(t *testing.T, kinds []objectKind, seed uint64, want outcome) {
	t.Helper()
	random := seeded(seed)
	h := generateHistory(t, pick(random, kinds), random, false)
	if h.scale() != want || !h.recognized() {
		return
	}
	changes := !h.sameScale(t, h.live, h.incoming)
	if !changes && (want == through || random.IntN(10) > 0) {
		return // most of these prove little
	}
	if changes {
		f.differ++
	}
	f.add(t, h.hostile(t, want), seed, map[int]outcome{0: want})
}

// add sends a review and notes what is wrong with the answer.
func (f *findings) add(t *testing.T, x *hostile, seed uint64, expected map[int]outcome) {
	t.Helper()
	f.checked++
	found := x.findings(t, expected)
	for _, name := range append(x.names, x.skipped) {
		f.seen[name]++
	}
	for _, finding := range found {
		f.losses[finding]++
		if len(f.losses) < 400 && (f.examples[finding] == "" || len(x.String()) < len(f.examples[finding])) {
			f.examples[finding] = fmt.Sprintf("-first-seed=%d -reviews=1: %s", seed, x)
		}
	}
}

func (f *findings) report(t *testing.T) {
	t.Helper()
	t.Logf("%d reviews, of which %d change the scale field; %v", f.checked, f.differ, f.seen)
	sorted := slices.SortedFunc(maps.Keys(f.losses), func(a, b string) int {
		return cmp.Or(f.losses[b]-f.losses[a], strings.Compare(a, b))
	})
	for _, finding := range sorted {
		t.Errorf("%d reviews: %s\n%s", f.losses[finding], finding, f.examples[finding])
	}
}

func (h *history) sameScale(tb testing.TB, a, b string) bool {
	tb.Helper()
	was, _ := document.Get(unmarshal(tb, a), h.kind.scale)
	is, _ := document.Get(unmarshal(tb, b), h.kind.scale)
	return sameJSON(was, is)
}

// isOneOf reports whether a list has a name.
func isOneOf(name string, names ...string) bool { return slices.Contains(names, name) }
