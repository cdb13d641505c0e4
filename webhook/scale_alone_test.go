package webhook_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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
// scale field with the model: it is kept in each of the first part, and the manifest wins in each of the second. make scale-alone
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
			s := newScaleTest(t)
			if *firstSeed == 0 {
				for _, seed := range onceWrong {
					s.check(t, seed, want)
				}
			}
			for seed := *firstSeed; s.checked < number; seed++ {
				s.check(t, seed, want)
			}
			s.report(t)
		})
	}
}

// scaleTest counts what it has checked and found.
type scaleTest struct {
	kinds    []objectKind
	checked  int
	differ   int // reviews whose write changes the scale field
	losses   map[string]int
	examples map[string]string
	seen     map[string]int
}

func newScaleTest(t *testing.T) *scaleTest {
	t.Helper()
	d, w := deploymentKind(t), widgetKind(t)
	return &scaleTest{
		kinds: []objectKind{d, d, w}, losses: map[string]int{}, examples: map[string]string{}, seen: map[string]int{},
	}
}

// check generates a review and, if its expected outcome is the one wanted, compares the answer with it.
func (s *scaleTest) check(t *testing.T, seed uint64, want outcome) {
	t.Helper()
	random := seeded(seed)
	h := generateHistory(t, pick(random, s.kinds), random, false)
	if h.scale() != want || !h.recognized() {
		return
	}
	changes := !h.sameScale(t, h.live, h.incoming)
	if !changes && (want == through || random.IntN(10) > 0) {
		return // most of these prove little
	}
	x := h.hostile(t, want)
	s.checked++
	if changes {
		s.differ++
	}
	for _, name := range x.names {
		s.seen[name]++
	}
	found := x.findings(t, want)
	if x.skipped != "" {
		s.seen[x.skipped]++
	}
	for _, finding := range found {
		s.losses[finding]++
		if len(s.losses) < 400 && (s.examples[finding] == "" || len(x.String()) < len(s.examples[finding])) {
			s.examples[finding] = fmt.Sprintf("-first-seed=%d -reviews=1: %s", seed, x)
		}
	}
}

func (s *scaleTest) report(t *testing.T) {
	t.Helper()
	t.Logf("%d reviews, of which %d change the scale field; hostile: %v", s.checked, s.differ, s.seen)
	findings := slices.SortedFunc(maps.Keys(s.losses), func(a, b string) int {
		return cmp.Or(s.losses[b]-s.losses[a], strings.Compare(a, b))
	})
	for _, finding := range findings {
		t.Errorf("%d reviews: %s\n%s", s.losses[finding], finding, s.examples[finding])
	}
}

func (h *history) sameScale(tb testing.TB, a, b string) bool {
	tb.Helper()
	was, _ := document.Get(unmarshal(tb, a), h.kind.scale)
	is, _ := document.Get(unmarshal(tb, b), h.kind.scale)
	return sameJSON(was, is)
}

// findings sends the review and returns what is wrong with the answer.
func (x *hostile) findings(t *testing.T, want outcome) (found []string) {
	t.Helper()
	response, lost := x.send(t)
	if lost != "" {
		return []string{lost}
	}
	for _, warning := range response.Warnings {
		if reason, ok := strings.CutPrefix(warning, "handoff: skipped, "); ok {
			x.skipped = reason
		}
	}
	patched := x.incoming
	if response.Patch != nil {
		var err error
		if patched, err = applyPatch(x.incoming, response.Patch); err != nil {
			return []string{"the patch does not apply: " + err.Error()}
		}
	}
	from := x.incoming
	if want == kept {
		from = x.live
	}
	if !x.sameScale(t, from, patched) {
		return []string{"the scale field is wrong, skipped: " + cmp.Or(x.skipped, "nothing")}
	}
	before, after := unmarshal(t, x.incoming), unmarshal(t, patched)
	found = append(found, x.wrongEntries(t, want, patched)...)
	found = append(found, x.wrongAnnotation(want, before, after)...)
	if x.others {
		return found
	}
	for _, object := range []map[string]any{before, after} {
		x.blank(t, object)
	}
	if diff := gocmp.Diff(before, after); diff != "" {
		found = append(found, "something else has changed: "+x.names[len(x.names)-1])
	}
	return found
}

// blank takes the parts out of an object that other checks are about. A parent that the write removed comes back with the scale.
func (x *hostile) blank(t *testing.T, object map[string]any) {
	t.Helper()
	document.Remove(object, pathOf("metadata", "managedFields"))
	document.Remove(object, pathOf("metadata", "annotations", lastApplied))
	document.Remove(object, x.kind.scale)
	for path := x.kind.scale[:len(x.kind.scale)-1]; len(path) > 0; path = path[:len(path)-1] {
		if parent, _ := document.Get(object, path); isOneOf(encode(parent), "{}", "null") {
			document.Remove(object, path)
		}
	}
	if parent, _ := document.Get(unmarshal(t, x.incoming), x.kind.scale[:len(x.kind.scale)-1]); parent == nil {
		document.Remove(object, x.kind.scale[:len(x.kind.scale)-1]) // it comes back as it was live
	}
}

func (x *hostile) send(t *testing.T) (response *admissionv1.AdmissionResponse, lost string) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			lost = fmt.Sprintf("the handler panics: %v", p)
		}
	}()
	recorder := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mutate?timeout=10s", strings.NewReader(x.body))
	start := time.Now()
	x.handler.ServeHTTP(recorder, req)
	if took := time.Since(start); took > 5*time.Second {
		return nil, "the answer takes more than 5 s"
	}
	return allowed(t, recorder.Code, recorder.Body.Bytes()), ""
}

// wrongEntries compares the managedFields entries with those that the model expects: for the scale field those of live if it is
// kept, and otherwise those of incoming, except for the sender's own Apply entry.
func (x *hostile) wrongEntries(t *testing.T, want outcome, patched string) (found []string) {
	t.Helper()
	live, incoming, is := entriesIn(t, x.live), entriesIn(t, x.incoming), entriesIn(t, patched)
	parent, _ := document.Get(unmarshal(t, x.incoming), x.kind.scale[:len(x.kind.scale)-1])
	isGone := want == kept && parent == nil
	// A write that changes nothing else becomes the live object, with its entries.
	becomesLive := sameJSON(withoutEntries(t, x.live), withoutEntries(t, patched))
	for by := range joinedKeys(live, incoming, is) {
		path := x.kind.scale
		if by.APIVersion == otherVersion {
			path = otherScale()
		}
		was, sent, got := live.of(by).Has(path), incoming.of(by).Has(path), is.of(by).Has(path)
		own := by.Manager == x.writer.manager && by.Operation == metav1.ManagedFieldsOperationApply
		isRight := got == sent
		if want == kept {
			if isRight = got == was; own {
				isRight = got == (was && sent)
			}
		}
		if !isRight {
			found = append(found, fmt.Sprintf("managedFields: %s (%s %s): live %t, incoming %t, patched %t",
				by.Manager, by.Operation, by.Subresource, was, sent, got))
		}
		without := func(s *fieldpath.Set) *fieldpath.Set {
			remove := fieldpath.NewSet()
			for length := 1; length <= len(path); length++ {
				remove.Insert(path[:length])
			}
			if isGone { // the parent comes back with all that it had
				s = s.RecursiveDifference(fieldpath.NewSet(path[:len(path)-1]))
			}
			return s.Difference(remove)
		}
		if rest := without(is.of(by)); !x.others && !rest.Equals(without(incoming.of(by))) && (!becomesLive || !rest.Equals(without(live.of(by)))) {
			found = append(found, fmt.Sprintf("managedFields: %s (%s %s) has other fields than it had", by.Manager, by.Operation, by.Subresource))
		}
	}
	return found
}

func withoutEntries(t *testing.T, text string) map[string]any {
	t.Helper()
	object := unmarshal(t, text)
	document.Remove(object, pathOf("metadata", "managedFields"))
	return object
}

func joinedKeys(all ...entries) map[metav1.ManagedFieldsEntry]bool {
	keys := map[metav1.ManagedFieldsEntry]bool{}
	for _, some := range all {
		for by := range some {
			keys[by] = true
		}
	}
	return keys
}

// entries are the field sets of managedFields by who has them.
type entries map[metav1.ManagedFieldsEntry]*fieldpath.Set

func (e entries) of(by metav1.ManagedFieldsEntry) *fieldpath.Set {
	if set := e[by]; set != nil {
		return set
	}
	return fieldpath.NewSet()
}

func entriesIn(t *testing.T, object string) entries {
	t.Helper()
	found := entries{}
	for _, e := range objectOf(t, object).GetManagedFields() {
		set := fieldpath.NewSet()
		if e.FieldsV1 != nil && e.FieldsV1.GetRawString() != "" {
			set = setOf(t, e)
		}
		key := metav1.ManagedFieldsEntry{Manager: e.Manager, Operation: e.Operation, APIVersion: e.APIVersion, Subresource: e.Subresource}
		if found[key] != nil {
			set = set.Union(found[key])
		}
		found[key] = set
	}
	return found
}

// wrongAnnotation checks that last-applied is as it was sent, except for the scale field if that is kept.
func (x *hostile) wrongAnnotation(want outcome, before, after map[string]any) []string {
	was, is := lastAppliedIn(before), lastAppliedIn(after)
	wasObject, isObject := unmarshalOrNil(was), unmarshalOrNil(is)
	if was == is && (want == through || !x.readable || !x.changes || wasObject == nil) {
		return nil
	}
	if x.others { // other rows may have removed their fields
		sent, _ := document.Get(wasObject, x.kind.scale)
		got, isThere := document.Get(isObject, x.kind.scale)
		if want == through && !sameJSON(sent, got) || want == kept && isThere && x.changes {
			return []string{"last-applied has another scale field than expected"}
		}
		return nil
	}
	if want == through || wasObject == nil {
		return []string{"last-applied has changed: " + x.names[len(x.names)-1]}
	}
	if _, found := document.Get(isObject, x.kind.scale); found {
		return []string{"last-applied still has the scale field"}
	}
	document.Remove(wasObject, x.kind.scale)
	if diff := gocmp.Diff(withoutEmpty(wasObject), withoutEmpty(isObject)); diff != "" {
		return []string{"last-applied has lost more than the scale field"}
	}
	return nil
}

// withoutEmpty takes the objects out of a decoded manifest that are empty, and those that are empty without them.
func withoutEmpty(v any) any {
	object, _ := v.(map[string]any)
	for name, member := range object {
		if inner, ok := withoutEmpty(member).(map[string]any); ok && len(inner) == 0 {
			delete(object, name)
		}
	}
	return v
}

func isOneOf(name string, names ...string) bool { return slices.Contains(names, name) }
