package merge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

// HandoverManager is the field manager that takes over the claim on a field from an applier that no longer declares it, by
// the documented transfer between managers
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership). The webhook never claims
// anything itself: a claim of its own would make an apply without force a conflict.
const HandoverManager = "ownership-handoff"

// Kept is a field that is to be as it is in live.
type Kept struct {
	// Path leads to the field, in both objects alike.
	Path fieldpath.Path
	// Value is what the field is to be, as JSON; nil stands for live's value.
	Value json.RawMessage
	// Scale reports whether it is the scale field, which is kept whatever else the manifest sets.
	Scale bool
	// ScaleIn returns the path of the scale field in another version of the kind; nil stands for Path.
	ScaleIn ownership.ScalePaths
}

// Rewritten is what becomes of the incoming object.
type Rewritten struct {
	// Operations are a JSON patch (RFC 6902) on the incoming object; none where it is already as it should be.
	Operations []jsonpatch.Operation
	// Overruled says, by the position of a field among those to be kept, why the manifest wins: keeping the field would make
	// the API server refuse an object that it accepts without.
	Overruled map[int]string
	// Gone are the positions of the fields that went with an element of a list: its owner has deleted it.
	Gone map[int]bool
}

// Rewrite returns the incoming object of a write with the fields to keep as they are in live, in value and in managedFields,
// and without the fields to clear and all claims on them.
//
// A kept field of which no parent is missing is set. Where parents are missing, the outermost comes back as it is in live,
// in one operation for all fields in it, if they are all that the manifest declared there; else the manifest has removed the
// rest, and half a parent is none that anybody declared. The parent of the scale field comes back in any case. Where the
// manifest now sets what excludes a kept field (relations.go), the manifest wins.
//
// The last-applied annotation loses the kept fields, whoever wrote it, and parents that are empty without them. A write that
// changes nothing else becomes the live object, byte for byte, so that the API server stores nothing and the
// resourceVersion stays.
//
// The error is ownership.ErrManagedFields, ErrNotWhole, or of a value that is no JSON.
func Rewrite(w ownership.Write, keep []Kept, clearing []fieldpath.Path) (Rewritten, error) {
	cleared, operations, err := clearFields(w, clearing)
	if err != nil {
		return Rewritten{}, err
	}
	k := newKeeper(w, keep)
	k.group()
	if err := k.overrule(); err != nil {
		return Rewritten{}, err
	}
	restored := k.restoreValues()
	operations = append(operations, restored...)
	lastApplied, cut := k.lastApplied()
	if cut {
		at := "/metadata/annotations/" + rawjson.EscapePointer(ownership.LastAppliedAnnotation)
		operations = append(operations, jsonpatch.NewOperation("replace", at, lastApplied))
	}
	entries, err := k.restoreClaims(cleared)
	if err != nil {
		return Rewritten{}, err
	}
	managedFields, err := k.managedFields(entries, lastApplied, len(clearing) == 0)
	if err != nil {
		return Rewritten{}, err
	}
	operations = append(operations, managedFields...)
	out := Rewritten{Operations: operations, Overruled: k.overruled, Gone: k.gone}
	return out, k.verify(restored, entries)
}

// clearFields returns the incoming entries without claims on the fields, and the operations that take these out of the
// incoming object, which has them.
func clearFields(w ownership.Write, paths []fieldpath.Path) ([]ownership.Entry, []jsonpatch.Operation, error) {
	if len(paths) == 0 {
		return w.IncomingEntries, nil, nil
	}
	operations := make([]jsonpatch.Operation, 0, len(paths))
	for _, path := range paths {
		operations = append(operations, jsonpatch.NewOperation("remove", w.Incoming.Locate(path).Pointer, nil))
	}
	cleared := fieldpath.NewSet(paths...)
	var entries []ownership.Entry
	for _, e := range w.IncomingEntries {
		set, err := e.Set()
		if err != nil {
			return nil, nil, err
		}
		left := set.RecursiveDifference(cleared)
		if !left.Equals(set) {
			if e, err = e.WithSet(left); err != nil {
				return nil, nil, err
			}
		}
		if !left.Empty() || set.Empty() {
			entries = append(entries, e)
		}
	}
	return entries, operations, nil
}

// keeper keeps fields of one write.
type keeper struct {
	write ownership.Write
	kept  []Kept
	meter fieldtree.Meter

	tree           *fieldtree.Tree
	nodes          []*fieldtree.Node // of the kept fields; nil where a path cannot be followed
	live, incoming fieldtree.Places
	units          []*unit
	overruled      map[int]string
	gone           map[int]bool
}

// unit is a part of the object that one operation gives live's value: a kept field, or the outermost missing parent of one
// or more.
type unit struct {
	top *fieldtree.Node
	// kept are the positions of the kept fields in it.
	kept []int
	// value is what it is to be.
	value json.RawMessage
	// scale reports whether the scale field is in it.
	scale bool
}

func newKeeper(w ownership.Write, kept []Kept) *keeper {
	k := &keeper{
		write: w, kept: kept, meter: fieldtree.Meter(w.Meter), tree: &fieldtree.Tree{},
		nodes: make([]*fieldtree.Node, len(kept)), overruled: map[int]string{}, gone: map[int]bool{},
	}
	for i, field := range kept {
		k.nodes[i] = k.tree.Add(field.Path)
	}
	k.live, k.incoming = k.tree.Find(w.Live.Text(), k.meter), k.tree.Find(w.Incoming.Text(), k.meter)
	return k
}

// group puts the kept fields into units.
func (k *keeper) group() {
	byTop := map[*fieldtree.Node]*unit{}
	for i, n := range k.nodes {
		top, reason := k.topOf(n)
		switch {
		case reason != "":
			k.overruled[i] = reason
			continue
		case top == nil:
			k.gone[i] = true
			continue
		}
		u := byTop[top]
		if u == nil {
			u = &unit{top: top, value: k.live.Of(top, k.write.Live.Text())}
			byTop[top] = u
			k.units = append(k.units, u)
		}
		if value := k.kept[i].Value; value != nil {
			u.value = wrapped(value, n, top)
		}
		u.kept = append(u.kept, i)
		u.scale = u.scale || k.kept[i].Scale
	}
}

// topOf returns the node that is to be restored for a kept field: the outermost kept field that it is in, or the outermost
// missing parent. It returns nil where that is an element of a list, and a reason where the manifest has put something
// else in the place of a parent.
func (k *keeper) topOf(n *fieldtree.Node) (top *fieldtree.Node, reason string) {
	if n == nil {
		return nil, "its path is too long"
	}
	for p := n; p != nil; p = p.Parent() {
		if p.Wanted {
			n = p
		}
	}
	top = n
	if missing := k.incoming.Missing(n); missing != nil {
		top = missing
	}
	for parent := top.Parent(); parent != nil; parent = top.Parent() {
		text := k.incoming.Of(parent, k.write.Incoming.Text())
		switch {
		case string(text) == "null":
			top = parent
			continue
		case top.IsField() && text[0] != '{':
			return nil, "the manifest sets another type of value"
		}
		break
	}
	if !top.IsField() && !k.incoming[top.ID].Present() {
		return nil, ""
	}
	return top, ""
}

// wrapped returns a field's value as a part of a parent's that has nothing else.
func wrapped(value json.RawMessage, n, top *fieldtree.Node) json.RawMessage {
	for ; n != top; n = n.Parent() {
		name, _ := json.Marshal(*n.Element.FieldName) //nolint:errchkjson // a string can always be encoded
		value = fmt.Appendf(nil, "{%s:%s}", name, value)
	}
	return value
}

// restoreValues returns one operation for each unit that the incoming object has otherwise.
func (k *keeper) restoreValues() []jsonpatch.Operation {
	var operations []jsonpatch.Operation
	for _, u := range k.units {
		if !bytes.Equal(k.incoming.Of(u.top, k.write.Incoming.Text()), u.value) {
			operations = append(operations, jsonpatch.NewOperation("add", k.incoming.Pointer(u.top), u.value))
		}
	}
	return operations
}

// lastApplied returns the text that the last-applied annotation is to have, and whether that is another than it has.
func (k *keeper) lastApplied() (text string, cut bool) {
	text, ok := k.write.Incoming.LastApplied()
	if !ok || rawjson.Check([]byte(text)) != nil {
		return text, false
	}
	tree := &fieldtree.Tree{}
	for i, field := range k.kept {
		if k.overruled[i] == "" && !k.gone[i] {
			tree.Add(field.Path)
			tree.Add(ownership.StringData(k.write.Kind.GroupKind(), field.Path))
		}
	}
	left, cut := tree.Cut([]byte(text), holdsLastApplied, k.meter)
	return string(left), cut
}

// holdsLastApplied reports whether a node is metadata or annotations, which kubectl records in each manifest, be they empty.
func holdsLastApplied(n *fieldtree.Node) bool {
	names := n.Names(nil)
	return names[0] == "metadata" && (len(names) == 1 || len(names) == 2 && names[1] == "annotations")
}

// managedFields returns the operation that gives the incoming object its entries, none where it has them. Alone reports
// whether nothing but what is kept is rewritten.
func (k *keeper) managedFields(entries []ownership.Entry, lastApplied string, alone bool) ([]jsonpatch.Operation, error) {
	w := k.write
	if !w.Live.Present() {
		return nil, nil // what created the object claims it, until the autoscaler writes
	}
	text := ownership.EncodeEntries(entries)
	changed := !ownership.SameTexts(entries, ownership.InOrder(w.IncomingEntries))
	if alone && len(k.units) > 0 && len(w.Live.ManagedFields()) > 0 && k.becomesLive(entries, lastApplied) {
		// The applier's entry has the time of this write, and with it another place among the entries.
		text = w.Live.ManagedFields()
		changed = !bytes.Equal(text, w.Incoming.ManagedFields())
	}
	if !changed {
		return nil, nil
	}
	if metadata := w.Incoming.Value(fieldpath.MakePathOrDie("metadata")); len(metadata) == 0 || metadata[0] != '{' {
		return nil, fmt.Errorf("%w: metadata: %w", ownership.ErrManagedFields, ownership.ErrNotAnObject)
	}
	return []jsonpatch.Operation{jsonpatch.NewOperation("add", "/metadata/managedFields", json.RawMessage(text))}, nil
}

// becomesLive reports whether the rewritten object is the live object but for the times and the order of the entries.
func (k *keeper) becomesLive(entries []ownership.Entry, lastApplied string) bool {
	was, _ := k.write.Live.LastApplied()
	if lastApplied != was || !ownership.SameClaims(entries, k.write.LiveEntries, ownership.LastAppliedPath()) {
		return false
	}
	aside := &fieldtree.Tree{}
	aside.Add(fieldpath.MakePathOrDie("metadata", "managedFields"))
	aside.Add(ownership.LastAppliedPath())
	for _, u := range k.units {
		aside.Add(u.top.Path())
	}
	return aside.Equal(k.write.Live.Text(), k.write.Incoming.Text(), k.meter)
}
