package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

// Kept is a field to keep.
type Kept struct {
	// Path leads to the field, in live and in the incoming object.
	Path fieldpath.Path
	// Value is the value that the field gets, as JSON; nil stands for live's value.
	Value json.RawMessage
	// Scale reports whether it is the scale field, which is kept whatever else the manifest sets.
	Scale bool
	// ScaleIn returns the path of the scale field in another API version of the kind; nil stands for Path in every version.
	ScaleIn ownership.ScalePaths
}

// Rewritten is the result of Rewrite.
type Rewritten struct {
	// Operations are a JSON patch (RFC 6902) on the incoming object; none if it needs no change.
	Operations []jsonpatch.Operation
	// Overruled has the fields that are not kept, because the manifest wins. The keys are indexes in the list of fields to
	// keep; the values are the reasons, as "the manifest sets valueFrom".
	Overruled map[int]string
	// Gone are the indexes of the fields that are not kept because their list element was deleted.
	Gone map[int]bool
}

// Rewrite returns the JSON patch that restores the fields to keep, with live's values and managedFields entries, and that
// removes the fields to clear from the incoming object and from every managedFields entry.
//
// If the incoming object lacks parents of a kept field, the patch restores the outermost of them as it is in live, in one
// operation for all kept fields nested under it. It does so only if the manifest had declared nothing else there: otherwise
// the manifest wins, because the restored parent would be one that nobody declared. The parent of the scale field is
// restored in any case. The manifest also wins if the API server would reject a kept field beside the fields that the
// manifest sets (relations.go), or if kubectl apply would delete the kept field next time (patchStrategy=retainKeys).
//
// The patch removes the kept fields from the last-applied annotation, whichever applier wrote it, and with them parents that
// are left empty. If the write changes nothing else, the result is the live object, byte for byte: the API server then stores
// nothing, and the resourceVersion stays the same.
//
// The error is ownership.ErrManagedFields, ErrNotRestored, or that of a value that is not JSON.
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
		operations = append(operations, jsonpatch.NewOperation("replace", lastAppliedPointer, string(lastApplied)))
	}
	r := k.newEntryRestorer(cleared)
	entries, err := r.restoreEntries(cleared)
	if err != nil {
		return Rewritten{}, err
	}
	if len(clearing) > 0 {
		r = k.newEntryRestorer(w.IncomingEntries) // the result is verified with the entries of the write itself
	}
	managedFields, err := k.managedFields(entries, lastApplied, len(clearing) == 0)
	if err != nil {
		return Rewritten{}, err
	}
	operations = append(operations, managedFields...)
	out := Rewritten{Operations: operations, Overruled: k.overruled, Gone: k.gone}
	return out, k.verify(restored, entries, r)
}

// clearFields returns the incoming managedFields entries without the fields to clear, and the operations that remove these
// fields from the incoming object.
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
	nodes          []*fieldtree.Node // of the kept fields; nil for a path that is too long
	live, incoming fieldtree.Positions
	units          []*unit
	overruled      map[int]string
	gone           map[int]bool
}

// unit is a part of the object that one operation restores: a kept field, or the outermost missing parent of one or more
// kept fields.
type unit struct {
	top *fieldtree.Node
	// kept are the indexes of its kept fields.
	kept []int
	// value is the value that it gets, as JSON.
	value json.RawMessage
	// scale reports whether it contains the scale field.
	scale bool

	index int // in the list in which group created it
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

// group groups the kept fields into units.
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
			u = &unit{top: top, value: k.live.Of(top, k.write.Live.Text()), index: len(k.units)}
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

// topOf returns the node to restore for a kept field: the outermost kept field that contains it, or the outermost missing
// parent. It returns nil if that is a list element, which has been deleted. It returns a reason if the manifest wins.
func (k *keeper) topOf(n *fieldtree.Node) (top *fieldtree.Node, reason string) {
	if n == nil {
		return nil, "the field is nested too deeply"
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
	top = k.outsideNull(top)
	if parent := top.Parent(); parent != nil && top.IsField() && k.incoming.Of(parent, k.write.Incoming.Text())[0] != '{' {
		return nil, "the manifest sets a value of another type"
	}
	if !top.IsField() && !k.incoming[top.ID].Span.Present() {
		return nil, ""
	}
	return top, ""
}

// outsideNull returns a node or, if its parent is null in the incoming object, the outermost parent of which that is true.
func (k *keeper) outsideNull(n *fieldtree.Node) *fieldtree.Node {
	isNull := func(n *fieldtree.Node) bool { return string(k.incoming.Of(n, k.write.Incoming.Text())) == "null" }
	for parent := n.Parent(); parent != nil && isNull(parent); parent = n.Parent() {
		n = parent
	}
	return n
}

// wrapped returns the value of a parent that has nothing but one field with a value.
func wrapped(value json.RawMessage, n, top *fieldtree.Node) json.RawMessage {
	for ; n != top; n = n.Parent() {
		name, _ := json.Marshal(*n.Element.FieldName) //nolint:errchkjson // a string can always be encoded
		value = fmt.Appendf(nil, "{%s:%s}", name, value)
	}
	return value
}

// restoreValues returns one operation for each unit that has another value in the incoming object.
func (k *keeper) restoreValues() []jsonpatch.Operation {
	var operations []jsonpatch.Operation
	for _, u := range k.units {
		if !bytes.Equal(k.incoming.Of(u.top, k.write.Incoming.Text()), u.value) {
			operations = append(operations, jsonpatch.NewOperation("add", k.incoming.Pointer(u.top), u.value))
		}
	}
	return operations
}

// lastAppliedPointer is the JSON pointer of the last-applied annotation.
const lastAppliedPointer = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"

// lastApplied returns the last-applied annotation without the kept fields, and whether that changes it.
func (k *keeper) lastApplied() (text []byte, cut bool) {
	text, ok := k.write.Manifests.LastApplied(k.write.Incoming)
	known := ok && bytes.Equal(text, k.write.Manifests.Manifest()) // which is valid
	if !known && (!ok || rawjson.Check(text) != nil) {
		return text, false
	}
	return k.cutTree().Cut(text, isAnnotationsParent, k.meter)
}

// cutTree returns the paths to cut from the last-applied annotation: those of all fields, unless some are not kept or have two
// paths in manifests.
func (k *keeper) cutTree() *fieldtree.Tree {
	kind := k.write.Kind.GroupKind()
	hasTwo := func(field Kept) bool { return ownership.StringData(kind, field.Path) != nil }
	if len(k.overruled)+len(k.gone) == 0 && !slices.ContainsFunc(k.kept, hasTwo) {
		return k.tree
	}
	tree := &fieldtree.Tree{}
	for i, field := range k.kept {
		if k.overruled[i] == "" && !k.gone[i] {
			tree.Add(field.Path)
			tree.Add(ownership.StringData(kind, field.Path))
		}
	}
	return tree
}

// isAnnotationsParent reports whether a node is metadata or metadata.annotations, which kubectl records in every last-applied
// configuration, even if they are empty.
func isAnnotationsParent(n *fieldtree.Node) bool {
	names := n.Names(nil)
	return names[0] == "metadata" && (len(names) == 1 || len(names) == 2 && names[1] == "annotations")
}

// managedFields returns the operation that sets the entries in the incoming object, none if it has them already. onlyKept
// reports whether the rewrite clears no fields.
func (k *keeper) managedFields(entries []ownership.Entry, lastApplied []byte, onlyKept bool) ([]jsonpatch.Operation, error) {
	w := k.write
	if !w.Live.Present() {
		return nil, nil // the creator manages the field until the autoscaler writes it
	}
	var text []byte
	if onlyKept && len(k.units) > 0 && len(w.Live.ManagedFields()) > 0 && k.becomesLive(entries, lastApplied) {
		// The applier's entry has the time of this write, and so may have another position.
		if text = w.Live.ManagedFields(); bytes.Equal(text, w.Incoming.ManagedFields()) {
			return nil, nil
		}
	} else {
		if ownership.SameTexts(entries, ownership.InOrder(w.IncomingEntries)) {
			return nil, nil
		}
		text = ownership.EncodeEntries(entries)
	}
	if metadata := rawjson.Find(w.Incoming.Text(), "metadata").Of(w.Incoming.Text()); len(metadata) == 0 || metadata[0] != '{' {
		return nil, fmt.Errorf("%w: metadata: %w", ownership.ErrManagedFields, ownership.ErrNotAnObject)
	}
	return []jsonpatch.Operation{jsonpatch.NewOperation("add", "/metadata/managedFields", json.RawMessage(text))}, nil
}

// becomesLive reports whether the rewritten object equals the live object, except for the times and the order of the entries.
func (k *keeper) becomesLive(entries []ownership.Entry, lastApplied []byte) bool {
	annotation := ownership.LastAppliedPath()
	was, _ := k.write.Manifests.LastApplied(k.write.Live)
	if !bytes.Equal(lastApplied, was) || !ownership.SameFieldsBut(entries, k.write.LiveEntries, annotation) {
		return false
	}
	ignored := &fieldtree.Tree{}
	ignored.Add(fieldpath.MakePathOrDie("metadata", "managedFields"))
	ignored.Add(annotation)
	for _, u := range k.units {
		ignored.Add(u.top.Path())
	}
	return ignored.Equal(k.write.Live.Text(), k.write.Incoming.Text(), k.meter)
}
