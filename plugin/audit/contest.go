package audit

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// autoscaling is the field manager of the HorizontalPodAutoscaler controller, which writes through /scale.
const autoscaling = "kube-controller-manager"

// contest lists the managers that contend for a field.
type contest struct {
	// appliers are the managers with manifests that set the field.
	appliers []string
	// writer is a manager that is neither an applier nor imperative and has written another value. It is empty if the
	// appliers contend with each other.
	writer string
	// owner is the field's owner.
	owner ownership.Owner
}

func (c contest) exists() bool { return c.writer != "" || len(c.appliers) > 1 }

func (c contest) equal(other contest) bool {
	return c.writer == other.writer && c.owner == other.owner && slices.Equal(c.appliers, other.appliers)
}

// contestOf returns the managers that contend for a field, in one of two cases:
//   - The last-applied manifest declares a different value, and the field's manager is neither an applier nor imperative: both
//     write repeatedly. An imperative change happens once. A value that the API server has only normalized, such as 0.5 to
//     500m, is still the applier's.
//   - Several appliers set it.
//
// The scale field of an autoscaled object is another risk. A value that an autoscaler left behind belongs to the manifest.
func contestOf(e explain.Explanation, clientSide string, f *ownership.Field) contest {
	if f.Value == nil || f.Owner.Kind == ownership.Autoscaler || under(f.Path, "status") {
		return contest{}
	}
	found := contest{appliers: appliers(e, clientSide, f), owner: f.Owner.Kind}
	byOwner := f.Owner.Kind.Decided() == ownership.Imperative || f.Owner.Kind == ownership.Controller
	if f.DeclaredValue == nil || len(f.Entries) == 0 || !byOwner {
		return found
	}
	writer := f.Entries[0]
	isImperative := e.Subject.Context.Managers.IsImperative(writer)
	formerAutoscaler := writer.Manager == autoscaling && writer.Subresource == "scale"
	if !isImperative && !formerAutoscaler && !e.Subject.Context.Managers.IsApplier(writer) {
		found.writer = writer.Manager
	}
	return found
}

// appliers returns the managers with manifests that set a field, without duplicates: the client-side applier if the
// last-applied annotation declares the field, server-side appliers, and clients that do not record their manifest, such as
// Helm 3. The client-side applier's managedFields entry does not count, because it includes defaults.
func appliers(e explain.Explanation, clientSide string, f *ownership.Field) (names []string) {
	if clientSide != "" && f.Declared == ownership.Sets {
		names = append(names, clientSide)
	}
	for _, h := range f.Entries {
		recorded := h.Operation == ownership.OperationUpdate && h.Manager == clientSide
		if e.Subject.Context.Managers.IsApplier(h) && h.Subresource == "" && !recorded && !slices.Contains(names, h.Manager) {
			names = append(names, h.Manager)
		}
	}
	return names
}

// clientSideApplier returns the client-side applier that wrote the last-applied annotation. It returns "" if there is no
// annotation, or if only the API server still updates it, for a server-side applier.
func clientSideApplier(e explain.Explanation) string {
	entries, err := e.Subject.Object.Entries()
	if err != nil {
		return ""
	}
	for _, entry := range ownership.EntriesFor(entries, ownership.LastAppliedPath()) {
		if entry.Operation == ownership.OperationUpdate && e.Subject.Context.Managers.IsApplier(entry) {
			return entry.Manager
		}
	}
	return ""
}

func under(path fieldpath.Path, name string) bool {
	return len(path) > 0 && path[0].FieldName != nil && *path[0].FieldName == name
}

// isKey reports whether a field is a key of its list element. Every manager that sets a field of the element also manages it.
func isKey(path fieldpath.Path) bool {
	last := len(path) - 1
	if last < 1 || path[last].FieldName == nil || path[last-1].Key == nil {
		return false
	}
	name := *path[last].FieldName
	return slices.ContainsFunc(*path[last-1].Key, func(key value.Field) bool { return key.Name == name })
}
