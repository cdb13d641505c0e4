package ownership

import (
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// Field is an innermost field of a live object and whose it is: a scalar, an empty object or list, or an object or list
// that is claimed as a whole.
type Field struct {
	// Path names an element of a list as managedFields do, by key or by value, and by index where nobody claims it.
	Path fieldpath.Path
	// Value is the field's JSON text, a part of the object's. It is nil for a claim that leads nowhere in the object: of an
	// entry of another API version, or on something that has gone.
	Value []byte
	Owned
	// Since is the time of the owner's own entry, RFC 3339. Empty where that has none, as an entry of /scale, and where the
	// owner has no entry.
	Since string
	// Holders are the entries that claim the field, the owner's own first, the others as managedFields have them.
	Holders []Entry
	// Declared is what the last-applied annotation says about the field.
	Declared Claim
	// DeclaredValue is the JSON text of the value that the annotation gives the field, where that is another one than Value
	// (as text: a quantity that the API server has rewritten, 0.5 as 500m, is another). Nil where they agree.
	DeclaredValue []byte
}

// Fields are fields of one object: first as the object has them, within each container then the claims that lead nowhere.
// No two have the same path.
type Fields []Field

// Of returns the set of an owner's fields. The sets of all owners are disjoint, and their union is the set of all fields.
func (f Fields) Of(owner Owner) *fieldpath.Set {
	set := fieldpath.NewSet()
	for i := range f {
		if f[i].Owner == owner {
			set.Insert(f[i].Path)
		}
	}
	return set
}

// ObjectContext is what a live object does not say itself about who owns its fields.
type ObjectContext struct {
	Managers Managers
	// Autoscaler names the autoscaler that targets the object; empty where none does.
	Autoscaler string
	// Scale is the path of the scale field, nil where the object's kind has none.
	Scale fieldpath.Path
	// ScaleIn returns that path in another version of the kind; nil stands for the same path in all of them.
	ScaleIn ScalePaths
	// Controlled names the fields that go to controllers, by rules of the configuration and by the object's annotation
	// (ParseControllerFields).
	Controlled []Pattern
}

// Fields returns every innermost field of a live object with its owner, and every claim that leads nowhere. Left out is
// what makes the object the one it is or records ownership: apiVersion, kind, metadata's name, namespace, uid,
// resourceVersion, generation, creationTimestamp and managedFields, and the last-applied annotation.
//
// The owner is the one that Context.Resolve gives, by which decisions are made, but more exactly in four places:
//   - Other is a client that no list of managers names, which decisions count as Imperative.
//   - A field that a client-side applier claims and its last-applied annotation lacks is Default. The API server gives
//     whoever creates an object the claims of all that it adds itself.
//   - Under status, it is who writes the status subresource: Controller, or Imperative for a manager listed as that.
//   - Unknown is a field whose writer is not recorded: without managedFields, as an object read without
//     --show-managed-fields has none, or claimed by nobody but "ancient-changes" and "before-first-apply". Where the
//     annotation declares the very value, it is Manifest all the same.
//
// Nothing tells a list or map that is atomic from one that is claimed and of whose content nothing is: both are one field.
//
// The error is ErrManagedFields or ErrLastApplied. The fields refer to the object's text, which must not change.
func (c ObjectContext) Fields(live Object) (Fields, error) {
	if !live.Present() {
		return nil, nil
	}
	root, err := outlineOf(rawjson.WalkChecked(live.Text()))
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	w := fieldWalk{ObjectContext: c}
	if w.entries, err = live.Entries(); err != nil {
		return nil, err
	}
	s := spot{live: &root, aside: identity()}
	if s.declared, err = declaredBy(live); err != nil {
		return nil, err
	}
	for i, e := range w.entries {
		set, err := e.Set()
		if err != nil {
			return nil, err
		}
		s.beneath = append(s.beneath, claims{entry: i, set: set})
		author := e.Operation == OperationUpdate && c.Managers.IsApplier(e) && set.Has(LastAppliedPath())
		w.authors = append(w.authors, author)
	}
	w.visit(s)
	return slices.Clip(w.found), nil
}

// identity is what Fields leaves out.
func identity() *fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"), LastAppliedPath())
	for _, name := range []string{
		"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
	} {
		set.Insert(fieldpath.MakePathOrDie("metadata", name))
	}
	return set
}
