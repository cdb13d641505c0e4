package webhook_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const historiesOfAKind = 250

// everyHistory generates histories of each kind and reports what a check finds: how many histories it is about, and the shortest.
func everyHistory(t *testing.T, check func(*testing.T, *objectHistory) []string) {
	t.Helper()
	for _, newKind := range []func(*testing.T) objectKind{deploymentKind, configMapKind, widgetKind} {
		k := newKind(t)
		t.Run(k.gvk.Kind, func(t *testing.T) {
			failures, shortest, example := 0, 0, ""
			for seed := range uint64(historiesOfAKind) {
				l := newObjectHistory(t, k, seeded(seed))
				l.review(t)
				found := check(t, l)
				if len(found) == 0 {
					continue
				}
				failures++
				if size := len(l.live) + len(l.incoming); example == "" || size < shortest {
					shortest, example = size, fmt.Sprintf("seed %d: %s\n%s", seed, strings.Join(found, "\n"), l)
				}
			}
			if failures > 0 {
				t.Errorf("%d of %d histories, the shortest:\n%s", failures, historiesOfAKind, example)
			}
		})
	}
}

// A field that any warning, Event, audit annotation or log line calls kept has its live value in the object that is stored.
func TestFieldsReportedAsKeptAreKept(t *testing.T) {
	everyHistory(t, func(t *testing.T, l *objectHistory) (found []string) {
		t.Helper()
		live, patched := decode(t, l.live), decode(t, l.patched)
		for _, path := range l.kept {
			want, _ := valueAt(live, path)
			if got, ok := valueAt(patched, path); !ok || !cmp.Equal(want, got) {
				found = append(found, fmt.Sprintf("%v is called kept: want %v, got %v (present: %t)", path, encode(want), encode(got), ok))
			}
		}
		return found
	})
}

// What is called kept is a field of the live object.
func TestFieldsReportedAsKeptAreLiveFields(t *testing.T) {
	everyHistory(t, func(_ *testing.T, l *objectHistory) (found []string) {
		for _, text := range l.unknown {
			found = append(found, "called kept, and no field of the live object: "+text)
		}
		return found
	})
}

func TestKeptFieldsHaveTheManagedFieldsOfLive(t *testing.T) {
	everyHistory(t, func(t *testing.T, l *objectHistory) (found []string) {
		t.Helper()
		live, incoming, patched := claimsOf(t, l.live), claimsOf(t, l.incoming), claimsOf(t, l.patched)
		for _, path := range l.kept {
			found = append(found, l.wrongClaims(t, path, [3]claims{live, incoming, patched})...)
		}
		return found
	})
}

// Everything that is not kept is as it was sent, or came back with a parent that is as in the live object.
func TestOtherFieldsAreAsSent(t *testing.T) {
	everyHistory(t, func(t *testing.T, l *objectHistory) (found []string) {
		t.Helper()
		live, incoming, patched := decode(t, l.live), decode(t, l.incoming), decode(t, l.patched)
		l.kind.fieldsOf(t, l.patched).Union(l.kind.fieldsOf(t, l.incoming)).Leaves().Iterate(func(path fieldpath.Path) {
			touched := slices.Concat(l.kept, l.cleared)
			if underAny(path, touched) || aboveAny(path, touched) || unchangedAt(incoming, patched, path) ||
				path.Equals(pathOf("metadata", "annotations", lastApplied)) {
				return
			}
			for length := 1; length < len(path); length++ {
				if _, sent := valueAt(incoming, path[:length]); !sent && unchangedAt(live, patched, path[:length]) {
					return // it came back whole
				}
			}
			was, _ := valueAt(incoming, path)
			is, _ := valueAt(patched, path)
			found = append(found, fmt.Sprintf("%v is not kept: sent %v, patched to %v", path, encode(was), encode(is)))
		})
		return found
	})
}

// A missing parent is created again with all that it has in the live object, or not at all.
func TestAParentIsRestoredCompletelyOrNotAtAll(t *testing.T) {
	everyHistory(t, func(t *testing.T, l *objectHistory) (found []string) {
		t.Helper()
		live, incoming, patched := decode(t, l.live), decode(t, l.incoming), decode(t, l.patched)
		for _, path := range l.kept {
			for length := 1; length < len(path); length++ {
				parent := path[:length]
				_, sent := valueAt(incoming, parent)
				is, back := valueAt(patched, parent)
				if was, _ := valueAt(live, parent); !sent && back && !cmp.Equal(was, is) {
					found = append(found, fmt.Sprintf("%v came back in part: live %v, patched %v", parent, encode(was), encode(is)))
				}
			}
		}
		return found
	})
}

func TestAPatchedObjectSentAgainIsNotPatched(t *testing.T) {
	everyHistory(t, func(t *testing.T, l *objectHistory) (found []string) {
		t.Helper()
		if again := send(t, l.server, l.body(l.patched)); again.Patch != nil {
			found = append(found, "sent again, it is patched again: "+string(again.Patch))
		}
		return found
	})
}

func TestKeptFieldsLeaveLastApplied(t *testing.T) {
	everyHistory(t, func(t *testing.T, l *objectHistory) (found []string) {
		t.Helper()
		manifest := l.manifestIn(t, l.patched)
		for _, path := range l.kept {
			if got, ok := valueAt(manifest, path); ok && !l.serverSide {
				found = append(found, fmt.Sprintf("%v is kept, and in last-applied as %v", path, encode(got)))
			}
		}
		return found
	})
}

// A parent of which every field was kept leaves last-applied too. Elsewhere the annotation stays as it was sent.
func TestEmptiedParentsLeaveLastApplied(t *testing.T) {
	everyHistory(t, func(t *testing.T, l *objectHistory) (found []string) {
		t.Helper()
		before, after := l.manifestIn(t, l.incoming), l.manifestIn(t, l.patched)
		for _, path := range l.kept {
			for length := 1; length < len(path) && !l.serverSide; length++ {
				parent := path[:length]
				if parent.Equals(pathOf("metadata", "annotations")) {
					continue
				}
				was, _ := valueAt(before, parent)
				if is, ok := valueAt(after, parent); ok && isEmpty(is) && !isEmpty(was) {
					found = append(found, fmt.Sprintf("%v is left behind in last-applied as %v", parent, encode(is)))
				}
			}
		}
		return found
	})
}

func isEmpty(v any) bool { text := encode(v); return text == "{}" || text == "[]" || text == "null" }

// Two operations at nested pointers undo each other.
func TestOperationsOfAPatchAreAtDisjointPointers(t *testing.T) {
	everyHistory(t, func(t *testing.T, l *objectHistory) (found []string) {
		t.Helper()
		var operations []struct{ Op, Path string }
		if l.response.Patch == nil {
			return nil
		}
		if err := json.Unmarshal(l.response.Patch, &operations); err != nil {
			return []string{err.Error()}
		}
		for i, a := range operations {
			for _, b := range operations[:i] {
				if a.Path == b.Path || strings.HasPrefix(a.Path, b.Path+"/") || strings.HasPrefix(b.Path, a.Path+"/") {
					found = append(found, "operations at "+b.Path+" and "+a.Path)
				}
			}
		}
		return found
	})
}

// Row 3 keeps what a user changed: a live value that the manifest itself set last is the manifest's.
func TestAValueThatTheManifestSetIsNotKept(t *testing.T) {
	everyHistory(t, func(t *testing.T, l *objectHistory) (found []string) {
		t.Helper()
		if l.response.AuditAnnotations == nil || l.serverSide {
			return nil
		}
		base, live := l.manifestIn(t, l.live), decode(t, l.live)
		for _, path := range l.kept {
			if underAny(path, l.ruled) || l.kind.scale != nil && path.Equals(l.kind.scale) {
				continue // a controller's or an autoscaler's, whatever its value
			}
			if _, set := valueAt(base, path); set && unchangedAt(base, live, path) {
				found = append(found, fmt.Sprintf("%v is kept, and as the manifest last set it", path))
			}
		}
		return found
	})
}

// The generator proves something only where several siblings are kept under a parent that the manifest dropped.
func TestLiveObjectsHaveManyKeptSiblingsUnderMissingParents(t *testing.T) {
	siblings, kept, failedOpenCount := map[string]int{}, map[string]int{}, 0
	everyHistory(t, func(t *testing.T, l *objectHistory) []string {
		t.Helper()
		if failedOpen(l.response) || l.server.counted(t, "handoff_reviews_total", map[string]string{"result": "failed_open"}) > 0 {
			failedOpenCount++
		}
		incoming, under := decode(t, l.incoming), map[string]int{}
		for _, path := range l.kept {
			kept[l.kind.gvk.Kind]++
			for length := 1; length < len(path); length++ {
				if _, sent := valueAt(incoming, path[:length]); !sent {
					under[path[:length].String()]++
					break
				}
			}
		}
		for _, n := range under {
			if n > 1 {
				siblings[l.kind.gvk.Kind]++
				break
			}
		}
		return nil
	})
	t.Logf("histories with several fields kept under one missing parent: %v; kept fields: %v", siblings, kept)
	for _, kind := range []string{"Deployment", "ConfigMap", "Widget"} {
		if siblings[kind] < 8 {
			t.Errorf("%d histories of a %s keep several fields under a missing parent, want at least 8", siblings[kind], kind)
		}
	}
	if all := siblings["Deployment"] + siblings["ConfigMap"] + siblings["Widget"]; all < 100 {
		t.Errorf("%d histories keep several fields under a missing parent, want at least 100", all)
	}
	if failedOpenCount > 0 {
		t.Errorf("%d valid reviews failed open", failedOpenCount)
	}
}

func (l *objectHistory) manifestIn(t *testing.T, object string) any {
	t.Helper()
	text, _ := at(decode(t, object), []string{"metadata", "annotations", lastApplied}).(string)
	if text == "" {
		return nil
	}
	return decode(t, text)
}

// claims are the field sets of managedFields by who has them.
type claims map[metav1.ManagedFieldsEntry]*fieldpath.Set

func claimsOf(t *testing.T, object string) claims {
	t.Helper()
	found := claims{}
	for _, e := range objectOf(t, object).GetManagedFields() {
		set := fieldpath.NewSet()
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			t.Fatal(err)
		}
		found[metav1.ManagedFieldsEntry{
			Manager: e.Manager, Operation: e.Operation, APIVersion: e.APIVersion, Subresource: e.Subresource,
		}] = set
	}
	return found
}

// of returns what an entry has of a path and what is nested under it, as text.
func (c claims) of(by metav1.ManagedFieldsEntry, path fieldpath.Path) string {
	set, under := c[by], []string{}
	if set == nil {
		return ""
	}
	set.Iterate(func(p fieldpath.Path) {
		if isPrefix(path, p) {
			under = append(under, p.String())
		}
	})
	slices.Sort(under)
	return strings.Join(under, " ")
}

// wrongClaims compares the entries of the live, the incoming and the patched object on a kept path. They are as in the live
// object, with the exceptions of docs/decisions.md.
func (l *objectHistory) wrongClaims(t *testing.T, path fieldpath.Path, of [3]claims) (found []string) {
	t.Helper()
	live, incoming, patched := of[0], of[1], of[2]
	moved := unchangedAt(decode(t, l.live), decode(t, l.incoming), path)
	everyone := map[metav1.ManagedFieldsEntry]bool{}
	for _, c := range of {
		for by := range c {
			everyone[by] = true
		}
	}
	for by := range everyone {
		was, sent, is := live.of(by, path), incoming.of(by, path), patched.of(by, path)
		own := l.serverSide && by.Manager == l.applier && by.Operation == metav1.ManagedFieldsOperationApply
		switch {
		case is == was, moved && is == sent, own && is == "" && sent == "":
		default:
			found = append(found, fmt.Sprintf("%v: %s (%s %s) managed %q in live, %q in incoming, manages %q in patched",
				path, by.Manager, by.Operation, by.Subresource, was, sent, is))
		}
	}
	return found
}
