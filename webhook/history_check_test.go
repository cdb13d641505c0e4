package webhook_test

import (
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

	"github.com/ownership-handoff/handoff/test/document"
)

// findings sends the review and returns what is wrong with the answer, for the expected outcomes of fields by their index. All other
// fields go through.
func (x *hostile) findings(t *testing.T, expected map[int]outcome) (found []string) {
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
		if again := x.server.answer(t, x.history.body(x.live, patched, x.manager, x.dryRun)); again.Patch != nil && !x.others {
			found = append(found, "sent again, it is patched again")
		}
	}
	restored := x.restored(t, expected)
	found = append(found, x.wrongFields(t, expected, restored, patched)...)
	found = append(found, x.wrongEntries(t, expected, restored, patched)...)
	return append(found, x.wrongAnnotation(expected, restored, unmarshal(t, x.incoming), unmarshal(t, patched))...)
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

// restored returns the indexes of the fields that are to be kept, and whether the write changes them.
func (x *hostile) restored(t *testing.T, expected map[int]outcome) (changes map[int]bool) {
	t.Helper()
	changes = map[int]bool{}
	live, incoming := unmarshal(t, x.live), unmarshal(t, x.incoming)
	for i, field := range x.kind.settable {
		value, present := document.Get(live, field.path)
		if expected[i] != kept || !present {
			continue
		}
		sent, isSent := document.Get(incoming, field.path)
		changes[i] = !isSent || !sameJSON(sent, value)
		switch {
		case !changes[i]:
		case x.ruled[i] && field.values != nil:
			x.names = append(x.names, "a ruled field kept")
		case field.unit != "":
			x.names = append(x.names, "a unit kept")
		}
	}
	return changes
}

// wrongFields compares all fields but managedFields and last-applied with those that the model expects. If rows of their own may
// change other fields, it compares the scale field.
func (x *hostile) wrongFields(t *testing.T, expected map[int]outcome, restored map[int]bool, patched string) []string {
	t.Helper()
	live, want, got := unmarshal(t, x.live), unmarshal(t, x.incoming), unmarshal(t, patched)
	for i, field := range x.kind.settable {
		if expected[i] == unknown {
			document.Remove(want, field.path)
			document.Remove(got, field.path)
		}
		if !restored[i] {
			continue
		}
		if parent := field.path[:len(field.path)-1]; i == 0 && x.kind.scale != nil {
			if found, _ := document.Get(want, parent); found == nil { // it comes back as it was
				was, _ := document.Get(live, parent)
				document.Set(want, parent, was)
			}
		}
		value, _ := document.Get(live, field.path)
		document.Set(want, field.path, value)
	}
	if x.kind.scale != nil {
		wanted, _ := document.Get(want, x.kind.scale)
		if is, _ := document.Get(got, x.kind.scale); !sameJSON(wanted, is) {
			return []string{"the scale field is wrong, skipped: " + x.skipped}
		}
	}
	for _, object := range []map[string]any{want, got} {
		document.Remove(object, pathOf("metadata", "managedFields"))
		document.Remove(object, pathOf("metadata", "annotations", lastApplied))
		withoutEmpty(object)
	}
	if x.diff = gocmp.Diff(want, got); x.diff != "" && !x.others {
		return []string{"something else has changed: " + x.names[len(x.names)-1]}
	}
	return nil
}

// wrongEntries compares the managedFields entries with those that the model expects: for a kept field those of live, except that the
// sender's own Apply entry has what its manifest sets, and otherwise those of incoming.
func (x *hostile) wrongEntries(t *testing.T, expected map[int]outcome, restored map[int]bool, patched string) (found []string) {
	t.Helper()
	live, incoming, is := entriesIn(t, x.live), entriesIn(t, x.incoming), entriesIn(t, patched)
	// A write that changes nothing else becomes the live object, with its entries.
	becomesLive := sameJSON(withoutEntries(t, x.live), withoutEntries(t, patched))
	for by := range joinedKeys(live, incoming, is) {
		name := fmt.Sprintf("managedFields: %s (%s %s)", by.Manager, by.Operation, by.Subresource)
		own := by.Manager == x.writer.manager && by.Operation == metav1.ManagedFieldsOperationApply
		checked, gone := fieldpath.NewSet(), fieldpath.NewSet()
		for i, field := range x.kind.settable {
			path, isScale := field.path, i == 0 && x.kind.scale != nil
			if isScale && by.APIVersion == otherVersion {
				path = otherScale()
			}
			if _, isKept := restored[i]; !isScale && !isKept && expected[i] != unknown {
				continue
			}
			for length := range path {
				checked.Insert(path[:length+1])
			}
			if parent, _ := document.Get(unmarshal(t, x.incoming), field.path[:len(field.path)-1]); isScale && expected[i] == kept && parent == nil {
				gone.Insert(path[:len(path)-1]) // the parent comes back with all that it had
			}
			was, sent, got := live.of(by).Has(path), incoming.of(by).Has(path), is.of(by).Has(path)
			want := sent
			if expected[i] == kept {
				want = was && (sent || !own)
			}
			if (isScale || restored[i]) && expected[i] != unknown && got != want {
				found = append(found, fmt.Sprintf("%s: %s: live %t, incoming %t, patched %t", name, field.path, was, sent, got))
			}
		}
		rest := func(of entries) *fieldpath.Set { return of.of(by).RecursiveDifference(gone).Difference(checked) }
		if !x.others && !rest(is).Equals(rest(incoming)) && (!becomesLive || !rest(is).Equals(rest(live))) {
			found = append(found, name+" has other fields than it had")
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

// wrongAnnotation checks that last-applied is as it was sent, except for fields that are kept or that the model does not know.
func (x *hostile) wrongAnnotation(expected map[int]outcome, restored map[int]bool, before, after map[string]any) (found []string) {
	was, is := lastAppliedIn(before), lastAppliedIn(after)
	wasObject, isObject := unmarshalOrNil(was), unmarshalOrNil(is)
	if corrected := slices.Contains(slices.Collect(maps.Values(restored)), true) && x.readable; was == is && (!corrected || wasObject == nil) {
		return nil
	}
	if x.others { // other rows may have removed their fields
		sent, _ := document.Get(wasObject, x.kind.scale)
		got, isThere := document.Get(isObject, x.kind.scale)
		if changes, isKept := restored[0]; changes && isThere || !isKept && !sameJSON(sent, got) {
			return []string{"last-applied has another scale field than expected"}
		}
		return nil
	}
	if wasObject == nil || isObject == nil || len(restored) == 0 && !slices.Contains(slices.Collect(maps.Values(expected)), unknown) {
		return []string{"last-applied has changed: " + x.names[len(x.names)-1]}
	}
	for i, field := range x.kind.settable {
		changes, isKept := restored[i]
		if _, isThere := document.Get(isObject, field.path); isThere && changes {
			found = append(found, "last-applied still has a kept field")
		}
		for _, object := range []map[string]any{wasObject, isObject} {
			if _, isThere := document.Get(object, field.path); isThere && (isKept || expected[i] == unknown) {
				for path := field.path; len(path) > 0; path = path[:len(path)-1] {
					document.Remove(object, path)
					if parent, _ := document.Get(object, path[:len(path)-1]); encode(parent) != "{}" {
						break
					}
				}
			}
		}
	}
	if diff := gocmp.Diff(withoutEmpty(wasObject), withoutEmpty(isObject)); diff != "" {
		found = append(found, "last-applied has lost more than what is kept")
	}
	return found
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
