package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
)

// Field is a leaf field of a live object, and its owner. A leaf is a scalar, an empty object or list, or an object or list
// that managedFields contain as one field.
type Field struct {
	// Path leads to the field. It names list elements as managedFields do, by key or by value, and elements without a manager
	// by index.
	Path fieldpath.Path
	// Value is the field's JSON text, a part of the object's text, or {} for metadata in which Fields leaves out all. It is nil
	// if managedFields contain a field that the object lacks: the entry was recorded in another API version, or the field has
	// been removed.
	Value []byte
	Owner FieldOwner
	// Since is the time of the owner's managedFields entry, in RFC 3339 format. It is empty if the entry has no time, as for the
	// scale subresource, and if the owner has no entry.
	Since string
	// Entries are the managedFields entries that contain the field: the owner's first, the others in their order.
	Entries []Entry
	// Declared is how the last-applied configuration declares the field.
	Declared Declaration
	// DeclaredValue is the JSON text of the value in the last-applied configuration, nil if it equals Value. Quantities that the
	// API server has rewritten, such as 0.5 as 500m, are not equal.
	DeclaredValue []byte
}

// Fields are the fields of one object, in the order of the object. Fields that only managedFields contain follow the other
// fields of their parent. No two fields have the same path.
type Fields []Field

// ObjectContext has the facts about the owners of an object's fields that the live object does not record.
type ObjectContext struct {
	// Managers are those for the object's kind and its rules (Managers.WithRules).
	Managers Managers
	// Autoscaler names the autoscaler that targets the object, as "HorizontalPodAutoscaler/web"; empty if none does.
	Autoscaler string
	// Scale is the path of the scale field, nil if the object's kind has none.
	Scale fieldpath.Path
}

// IsScale reports whether a path is that of the scale field.
func (c ObjectContext) IsScale(path fieldpath.Path) bool {
	return c.Scale != nil && path.Equals(c.Scale)
}

// Fields returns every leaf field of a live object, and every field of its managedFields that the object lacks, each with its
// owner. It leaves out the fields that identify the object or record ownership: apiVersion, kind, metadata's name, namespace,
// uid, resourceVersion, generation, creationTimestamp and managedFields, and the last-applied annotation. It also leaves out a
// creationTimestamp in other metadata, such as that of a pod template, if it is null or missing. API servers before Kubernetes
// 1.34 return it as null, and managedFields contain it if a client has sent it as null, but it never has a value.
//
// The owner is the one that decisions use, with four refinements:
//   - Other owns a field that was written by a client that no list of managers names. Decisions count it as Imperative.
//   - Default owns a field that a client-side applier manages and that its last-applied configuration lacks. The API server
//     records the fields that it adds to a new object for the manager that creates it.
//   - A field of status that was written through the status subresource belongs to Controller, or to Imperative if the manager
//     is listed as imperative.
//   - Unknown owns a field whose writer is not recorded: the object has no managedFields, as without --show-managed-fields, or
//     only "ancient-changes" and "before-first-apply" contain the field. If the last-applied configuration declares the same
//     value, the owner is Manifest.
//
// managedFields do not distinguish an atomic list or map from one without managed fields nested under it. Fields returns both
// as one field.
//
// The error is ErrManagedFields or ErrLastApplied. The fields refer to the object's text, which must not change.
func (c ObjectContext) Fields(live Object) (Fields, error) {
	manifest, err := live.LastAppliedManifest()
	if err != nil {
		return nil, err
	}
	entries, err := live.Entries()
	if err != nil {
		return nil, err
	}
	w := fieldWalk{context: c, manifest: manifest, entries: entries, applied: Write{ObjectContext: c, Live: live, LiveEntries: entries}.appliedValues()}
	s := position{live: live.root, declared: manifest, excluded: excludedFields()}
	for i, e := range entries {
		if _, err := e.Set(); err != nil {
			return nil, err
		}
		s.claims = append(s.claims, claim{entry: i, set: e.Fields})
	}
	w.visit(s)
	return slices.Clip(w.found), nil
}

// excludedFields returns the paths that Fields leaves out.
func excludedFields() *fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"), LastAppliedPath())
	for _, name := range append(apitypes.GeneratedMetadata(), "name", "namespace") {
		set.Insert(fieldpath.MakePathOrDie("metadata", name))
	}
	return set
}
