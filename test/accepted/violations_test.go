package accepted_test

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/ownership"
)

// liveText is an object in which a user has changed the key person and a controller has written the key tuned. storedText is the
// object after a manifest without the keys person, tuned and same, of which same has the manifest's value.
const (
	liveText = `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: y, resourceVersion: "1",
		annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"person":"a","same":"a","other":"a"}}'},
		managedFields: [
			{manager: kubectl-client-side-apply, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:same": {}, "f:other": {}}}},
			{manager: kubectl-patch, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:person": {}}}},
			{manager: tuner, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:tuned": {}}}}]},
		data: {person: b, same: a, other: a, tuned: t}}`
	storedText = `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: y, resourceVersion: "2",
		annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"other":"a"}}'},
		managedFields: [
			{manager: kubectl-client-side-apply, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:other": {}}}},
			{manager: kubectl-patch, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:person": {}}}},
			{manager: tuner, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:tuned": {}}}}]},
		data: {person: b, other: a, tuned: t}}`
	keptWarning = "handoff: kept .data.person=b, set by kubectl-patch and no longer in the manifest"
)

// correct returns an apply without violations.
func correct(t *testing.T) observation {
	t.Helper()
	o := observation{schemas: newSchemas(), applier: clientSide + "/Update", warnings: []string{keptWarning}}
	o.live, o.stored, o.twin = decodeObject(t, liveText), decodeObject(t, storedText), decodeObject(t, storedText)
	removeAt(o.twin.Object, []string{"data", "person"})
	entries := o.twin.GetManagedFields()
	o.twin.SetManagedFields(slices.Delete(entries, 1, 2))
	o.again, o.off = o.stored.DeepCopy(), o.stored.DeepCopy()
	o.base = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"person": "a", "same": "a", "other": "a"}}
	o.manifest = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"other": "a"}}
	rule, err := ownership.ParsePattern(".data.tuned")
	if err != nil {
		t.Fatal(err)
	}
	o.rules = []ownership.Pattern{rule}
	return o
}

func decodeObject(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object, ok := decodeYAML(text).(map[string]any)
	if !ok {
		t.Fatal("the text is not an object")
	}
	return &unstructured.Unstructured{Object: object}
}

// TestChecksDetectViolations verifies each check with a violation in an otherwise correct apply.
func TestChecksDetectViolations(t *testing.T) {
	t.Parallel()
	set := func(o *unstructured.Unstructured, name string, value any) {
		setAt(o.Object, []string{"data", name}, value)
	}
	for check, violate := range map[string]func(*observation){
		"": func(*observation) {},
		checkOpen: func(o *observation) {
			o.warnings = append(o.warnings, "handoff: skipped, review too large: the write was not modified")
		},
		checkWords: func(o *observation) {
			o.warnings = append(o.warnings, "handoff: kept .data.nobody=1, set by kubectl-edit")
		},
		checkAccepted: func(o *observation) { o.refused = errors.New("invalid") },
		checkValue:    func(o *observation) { set(o.stored, "person", "c") },
		checkEntries: func(o *observation) {
			o.stored.SetManagedFields(slices.Delete(o.stored.GetManagedFields(), 1, 2))
		},
		checkHalf: func(o *observation) {
			probe := map[string]any{"timeoutSeconds": int64(5), "grpc": map[string]any{"port": int64(1)}}
			setAt(o.live.Object, []string{"data", "probe"}, probe)
			setAt(o.stored.Object, []string{"data", "probe"}, map[string]any{"timeoutSeconds": int64(5)})
			o.warnings = append(o.warnings, "handoff: kept .data.probe.timeoutSeconds=5, set by kubectl-patch")
			entries := o.live.GetManagedFields()
			entries[1].FieldsV1 = metav1.NewFieldsV1(`{"f:data":{"f:person":{},"f:probe":{"f:timeoutSeconds":{}}}}`)
			o.live.SetManagedFields(entries)
		},
		checkElsewhere: func(o *observation) { set(o.stored, "other", "c") },
		checkOwners: func(o *observation) {
			o.stored.SetManagedFields(slices.Delete(o.stored.GetManagedFields(), 0, 1))
		},
		checkRemoval: func(o *observation) { set(o.stored, "same", "a") },
		checkSilent: func(o *observation) {
			o.warnings, o.stored = nil, o.twin
			o.again = o.twin
		},
		checkRecord: func(o *observation) {
			o.stored.SetAnnotations(map[string]string{lastApplied: `{"data":{"person":"a","other":"a"}}`})
			o.twin.SetAnnotations(o.stored.GetAnnotations())
		},
		checkAgain: func(o *observation) { o.again.SetResourceVersion("3") },
		checkOff:   func(o *observation) { removeAt(o.off.Object, []string{"data", "person"}) },
	} {
		t.Run(check, func(t *testing.T) {
			t.Parallel()
			o := correct(t)
			violate(&o)
			o.words = o.read()
			found := o.check()
			if seen := slices.ContainsFunc(found, func(f finding) bool { return f.check == check }); seen != (check != "") {
				t.Errorf("found %+v", found)
			}
			if check == "" && len(found) > 0 {
				t.Errorf("a correct apply has findings %+v", found)
			}
		})
	}
}

// TestFieldsOfWarnings tests that different forms of warnings name the same field.
func TestFieldsOfWarnings(t *testing.T) {
	t.Parallel()
	for _, warning := range []string{
		"handoff: kept .data.person=b, owned by tuner; remove it from the manifest",
		"handoff: kept .data.person=b, owned by tuner; no action needed",
		"handoff: kept .data.person, set by kubectl-patch and no longer in the manifest",
		"handoff: kept ...data.person, set by kubectl-patch",
		`handoff: kept .data["person"], set by kubectl-patch`,
	} {
		o := correct(t)
		o.warnings = []string{warning}
		if w := o.read(); len(w.kept) != 1 || w.kept[0].String() != ".data.person" {
			t.Errorf("%s: read as %+v", warning, w)
		}
	}
	o := correct(t)
	o.warnings = []string{"handoff: not kept .data.person, the manifest sets another", "handoff: 3 more fields"}
	if w := o.read(); len(w.notKept) != 1 || len(w.kept) != 0 || !w.more {
		t.Errorf("read as %+v", w)
	}
}
