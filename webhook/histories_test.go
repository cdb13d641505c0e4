package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/document"
)

const historiesOfAKind = 600

// TestHistoriesFollowTheDecisionTable generates histories of all fields and compares the result of the last apply with the model:
// the scale field, the fields that rules name and the units of docs/decisions.md are kept where they should be, with their
// managedFields, and everything else is as it was sent.
func TestHistoriesFollowTheDecisionTable(t *testing.T) {
	for _, newKind := range []func(*testing.T) objectKind{deploymentKind, configMapKind, widgetKind} {
		k := newKind(t)
		t.Run(k.gvk.Kind, func(t *testing.T) {
			counted := map[string]int{}
			failures, example := 0, ""
			for seed := range uint64(historiesOfAKind) {
				h := generateHistory(t, k, seeded(seed), true)
				if !h.recognized() {
					continue
				}
				found := h.compare(t, counted)
				if text := fmt.Sprintf("seed %d: %s\n%s", seed, strings.Join(found, "\n"), h); len(found) > 0 {
					failures++
					if example == "" || len(text) < len(example) {
						example = text
					}
				}
			}
			t.Logf("kept: %v", counted)
			if failures > 0 {
				t.Errorf("%d of %d histories, the shortest:\n%s", failures, historiesOfAKind, example)
			}
			for _, what := range []string{"ruled", "unit"} {
				if counted[what] < 15 && (what != "unit" || k.merging != nil) {
					t.Errorf("only %d fields of kind %s were kept: that proves little", counted[what], what)
				}
			}
		})
	}
}

// compare sends the last write of a history, and returns what is not as the model expects.
func (h *history) compare(t *testing.T, counted map[string]int) (found []string) {
	t.Helper()
	expected := h.outcomes()
	if h.kind.scale != nil && expected[0] == unknown {
		return nil
	}
	s := newServer(t, &historyCluster{fakeCluster{modes: map[string]string{"shop": "enforce"}}, h})
	s.Rules = h.rules(t)
	body := h.body(h.live, h.incoming, h.writer.manager, false)
	response := s.answer(t, body)
	patched := patchedBy(t, h.incoming, response.Patch)
	want, got := unmarshal(t, h.incoming), unmarshal(t, patched)
	live, manifest := unmarshal(t, h.live), unmarshalOrNil(lastAppliedIn(got))
	for i, slot := range h.kind.slots {
		value, present := document.Get(live, slot.path)
		if expected[i] == unknown {
			document.Remove(want, slot.path)
			document.Remove(got, slot.path)
		}
		if expected[i] != kept || !present {
			continue
		}
		sent, wasSent := document.Get(want, slot.path)
		if wasSent && sameJSON(sent, value) {
			continue
		}
		switch {
		case h.facts.ruled[i] && slot.values != nil:
			counted["ruled"]++
		case slot.unit != "":
			counted["unit"]++
		}
		if parent := slot.path[:len(slot.path)-1]; i == 0 && h.kind.scale != nil {
			if _, isThere := document.Get(want, parent); !isThere { // it comes back as it was
				was, _ := document.Get(live, parent)
				document.Set(want, parent, was)
			}
		}
		document.Set(want, slot.path, value)
		if _, isThere := document.Get(manifest, slot.path); isThere {
			found = append(found, fmt.Sprintf("%v is kept, and in last-applied", slot.path))
		}
		found = append(found, h.wrongManagers(t, i, patched)...)
	}
	for _, object := range []map[string]any{want, got} {
		document.Remove(object, pathOf("metadata", "managedFields"))
		document.Remove(object, pathOf("metadata", "annotations", lastApplied))
		withoutEmpty(object)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		found = append(found, fmt.Sprintf("the object (-want +got), warnings %q:\n%s", response.Warnings, diff))
	}
	if again := s.answer(t, h.body(h.live, patched, h.writer.manager, false)); again.Patch != nil {
		found = append(found, "sent again, it is patched again: "+string(again.Patch))
	}
	return found
}

// wrongManagers compares the entries that contain a kept field with those of live. The sender's own Apply entry has what its
// manifest sets.
func (h *history) wrongManagers(t *testing.T, i int, patched string) (found []string) {
	t.Helper()
	path := h.kind.slots[i].path
	live, incoming, is := entriesIn(t, h.live), entriesIn(t, h.incoming), entriesIn(t, patched)
	for by := range joinedKeys(live, incoming, is) {
		was, sent, got := live.of(by).Has(path), incoming.of(by).Has(path), is.of(by).Has(path)
		own := by.Manager == h.writer.manager && by.Operation == metav1.ManagedFieldsOperationApply
		if own && got != (was && sent) || !own && got != was {
			found = append(found, fmt.Sprintf("%v: %s (%s %s) manages it: live %t, incoming %t, patched %t",
				path, by.Manager, by.Operation, by.Subresource, was, sent, got))
		}
	}
	return found
}

// rules are the rules of a history, as the configuration has them.
func (h *history) rules(t *testing.T) []ownership.Rule {
	t.Helper()
	rule := ownership.Rule{Kind: h.kind.gvk.Kind}
	for i, slot := range h.kind.slots {
		pattern := ownership.Pattern{}
		for _, element := range slot.path {
			pattern = append(pattern, fieldpath.PathElementMatcher{PathElement: element})
		}
		if h.facts.ruled[i] {
			rule.Fields = append(rule.Fields, pattern)
		}
	}
	return []ownership.Rule{rule}
}
