package merge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// Rewritten is the result of Rewrite.
type Rewritten struct {
	// Operations are a JSON patch (RFC 6902) on the incoming object; none if it needs no change.
	Operations []Operation
	// ManifestWins has the fields that are not kept although the decision table keeps them. The keys are indexes in the list of
	// changes; the values are the reasons, as "it exceeds limits.cpu".
	ManifestWins map[int]string
	// Gone are the indexes of the changes that are not kept because the manifest has removed the list element or the object that
	// the field is in.
	Gone map[int]bool
}

// Rewrite returns the JSON patch that restores the fields of the changes, with live's values and managedFields entries, and that
// removes the fields to clear from the incoming object and from every managedFields entry. It does nothing for a change whose verdict
// is Warn; for Start, the field gets Change.To.
//
// If the incoming object lacks parents of the scale field, the patch restores the outermost of them as it is in live: the API
// server has accepted it like that. Missing parents of the fields of rules come back with these fields only, and of a unit only
// the map that it is a key of. One operation restores all kept fields nested under the same missing parent.
//
// The patch removes the kept fields from the last-applied annotation, whichever applier wrote it, and with them parents that
// are left empty. If the write changes nothing else, the result is the live object, byte for byte: the API server then stores
// nothing, and the resourceVersion stays the same.
//
// The error is ownership.ErrManagedFields, ErrNotRestored, or that of a value that is not JSON.
func Rewrite(w ownership.Write, changes []Change, clearing []fieldpath.Path) (Rewritten, error) {
	cleared, operations, err := clearFields(w, clearing)
	if err != nil {
		return Rewritten{}, err
	}
	k := newKeeper(w, changes)
	k.group()
	restored := k.restoreValues()
	operations = append(operations, restored...)
	lastApplied, cut := k.lastApplied()
	if cut {
		operations = append(operations, Operation{Op: "replace", Path: lastAppliedPointer, Value: string(lastApplied)})
	}
	r := k.newEntryRestorer()
	entries, err := r.restoreEntries(cleared)
	if err != nil {
		return Rewritten{}, err
	}
	managedFields, err := k.managedFields(entries, lastApplied, len(clearing) == 0)
	if err != nil {
		return Rewritten{}, err
	}
	operations = append(operations, managedFields...)
	out := Rewritten{Operations: operations, ManifestWins: k.wins, Gone: k.gone}
	return out, k.verify(restored, entries, r)
}

// clearFields returns the incoming managedFields entries without the fields to clear, and the operations that remove these
// fields from the incoming object.
func clearFields(w ownership.Write, paths []fieldpath.Path) ([]ownership.Entry, []Operation, error) {
	if len(paths) == 0 {
		return w.IncomingEntries, nil, nil
	}
	operations := make([]Operation, 0, len(paths))
	for _, path := range paths {
		pointer, _ := w.Incoming.Pointer(path)
		operations = append(operations, Operation{Op: "remove", Path: pointer})
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
	kept  []Change

	tree           *fieldtree.Tree
	nodes          []*fieldtree.Node // of the kept fields; nil for a path that is too long
	others         []*fieldtree.Node // the limit of a kept request and the reverse, nil for other fields
	live, incoming fieldtree.Places
	pieces         []*piece
	wins           map[int]string
	gone           map[int]bool

	sizes map[*fieldtree.Node]int // of the maps that get keys back
}

// piece is a part of the object that one operation restores: a kept field, or the outermost missing parent of one or more
// kept fields.
type piece struct {
	top *fieldtree.Node
	// kept are the indexes of its kept fields.
	kept []int
	// value is the value that it gets, as JSON.
	value json.RawMessage
	// whole reports whether it gets live's value, with everything in it, rather than the kept fields only.
	whole bool
}

func newKeeper(w ownership.Write, kept []Change) *keeper {
	k := &keeper{
		write: w, kept: kept, tree: &fieldtree.Tree{},
		nodes: make([]*fieldtree.Node, len(kept)), others: make([]*fieldtree.Node, len(kept)), wins: map[int]string{}, gone: map[int]bool{},
	}
	for i, c := range kept {
		if c.Decision.Verdict == Warn {
			continue
		}
		k.nodes[i] = k.tree.Add(c.Path)
		if other := counterpart(c.Path); other != nil && !c.Field.Scale {
			k.others[i] = k.tree.AddUnwanted(other)
		}
	}
	k.live, k.incoming = k.tree.Find(w.Live.At()), k.tree.Find(w.Incoming.At())
	return k
}

// group groups the kept fields into pieces.
func (k *keeper) group() {
	byTop := map[*fieldtree.Node]*piece{}
	for i, n := range k.nodes {
		if k.kept[i].Decision.Verdict == Warn {
			continue
		}
		if reason := k.manifestWins(i); reason != "" {
			k.wins[i] = reason
			continue
		}
		top, reason := k.topOf(n, k.kept[i])
		switch {
		case reason != "":
			k.wins[i] = reason
			continue
		case top == nil:
			k.gone[i] = true
			continue
		}
		p := byTop[top]
		if p == nil {
			p = &piece{top: top}
			byTop[top] = p
			k.pieces = append(k.pieces, p)
		}
		p.kept = append(p.kept, i)
		p.whole = p.whole || top.Wanted || k.kept[i].Field.Scale && k.kept[i].Decision.Verdict != Start
	}
	for _, p := range k.pieces {
		p.value = k.valueOf(p)
	}
}

// topOf returns the node to restore for a kept field: the outermost kept field that contains it, or the outermost missing
// parent. It returns nil if the manifest has removed the list element that the field is in, or the parent of a unit. It returns a
// reason if the manifest wins.
func (k *keeper) topOf(n *fieldtree.Node, kept Change) (top *fieldtree.Node, reason string) {
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
	if parent := top.Parent(); parent != nil && top.IsField() && !k.incoming.Of(parent).IsObject() {
		return nil, "the manifest sets a value of another type"
	}
	for p := n; p != top.Parent(); p = p.Parent() {
		if !p.IsField() && k.incoming.Of(p) == nil {
			return nil, ""
		}
	}
	if kept.Field.Unit && top != n {
		if _, inMap, _ := ownership.UnitOf(k.write.Kind.GroupKind(), kept.Path); !inMap || top != n.Parent() {
			return nil, ""
		}
	}
	return top, ""
}

// outsideNull returns a node or, if its parent is null in the incoming object, the outermost parent of which that is true.
func (k *keeper) outsideNull(n *fieldtree.Node) *fieldtree.Node {
	for parent := n.Parent(); parent != nil && k.incoming.Of(parent).IsNull(); parent = n.Parent() {
		n = parent
	}
	return n
}

// valueOf returns the value that a piece gets.
func (k *keeper) valueOf(p *piece) json.RawMessage {
	if k.nodes[p.kept[0]] == p.top {
		return k.valueAt(p.kept[0])
	}
	if p.whole {
		return k.live.Of(p.top).Text()
	}
	parent := map[string]any{}
	for _, i := range p.kept {
		in, names := parent, k.nodes[i].Names(p.top)
		for _, name := range names[:len(names)-1] {
			child, ok := in[name].(map[string]any)
			if !ok {
				child = map[string]any{}
				in[name] = child
			}
			in = child
		}
		in[names[len(names)-1]] = k.valueAt(i)
	}
	text, _ := json.Marshal(parent) //nolint:errchkjson // the values are JSON
	return text
}

// valueAt returns the value that a kept field gets.
func (k *keeper) valueAt(i int) json.RawMessage {
	if k.kept[i].Decision.Verdict == Start {
		return k.kept[i].To
	}
	return k.live.Of(k.nodes[i]).Text()
}

// restoreValues returns one operation for each piece that has another value in the incoming object.
func (k *keeper) restoreValues() []Operation {
	var operations []Operation
	for _, p := range k.pieces {
		if !bytes.Equal(k.incoming.Of(p.top).Text(), p.value) {
			operations = append(operations, Operation{Op: "add", Path: k.pointer(p), Value: p.value})
		}
	}
	return operations
}

// pointer returns the JSON pointer of a piece in the incoming object.
func (k *keeper) pointer(p *piece) string { return k.incoming.Pointer(k.write.Incoming.At(), p.top) }

// annotationNames are the names on the path of the last-applied annotation.
var annotationNames = []string{"metadata", "annotations", ownership.LastAppliedAnnotation}

// lastAppliedPointer is the JSON pointer of the last-applied annotation.
const lastAppliedPointer = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"

// lastApplied returns the last-applied annotation without the kept fields, and whether that changes it. Metadata and its annotations
// stay even if they become empty, as kubectl records them in every last-applied configuration.
func (k *keeper) lastApplied() (text []byte, cut bool) {
	text = lastAppliedOf(k.write.Incoming)
	if read, _ := k.write.Incoming.LastAppliedManifest(); read == nil {
		return text, false
	}
	manifest := jsontree.Valid(text)
	manifest.Limit(k.write.Meter)
	annotations := ownership.LastAppliedPath()[:2]
	mayGo := func(parent fieldpath.Path) bool {
		return parent[len(parent)-1].FieldName != nil && !ownership.HasPrefix(annotations, parent)
	}
	for i, c := range k.kept {
		if c.Decision.Verdict == Warn || k.wins[i] != "" || k.gone[i] || c.Field.Unit {
			continue
		}
		for _, path := range []fieldpath.Path{c.Path, ownership.StringData(k.write.Kind.GroupKind(), c.Path)} {
			cut = manifest.Cut(path, mayGo) != nil || cut
		}
	}
	return manifest.Remaining(), cut
}

// lastAppliedOf returns the text of an object's last-applied annotation, nil if it has none.
func lastAppliedOf(o ownership.Object) []byte {
	if manifest, err := o.LastAppliedManifest(); err == nil {
		return manifest.Document()
	}
	text, _ := o.LastApplied()
	return []byte(text)
}

// managedFields returns the operation that sets the entries in the incoming object, none if it has them already. onlyKept
// reports whether the rewrite clears no fields.
func (k *keeper) managedFields(entries []ownership.Entry, lastApplied []byte, onlyKept bool) ([]Operation, error) {
	w := k.write
	if !w.Live.Present() {
		return nil, nil // the creator manages the field until the autoscaler writes it
	}
	var text []byte
	if onlyKept && len(k.pieces) > 0 && len(w.Live.ManagedFields()) > 0 && k.becomesLive(entries, lastApplied) {
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
	if !w.Incoming.At("metadata").IsObject() {
		return nil, fmt.Errorf("%w: metadata: %w", ownership.ErrManagedFields, ownership.ErrNotAnObject)
	}
	return []Operation{{Op: "add", Path: "/metadata/managedFields", Value: json.RawMessage(text)}}, nil
}

// becomesLive reports whether the rewritten object equals the live object, except for the times and the order of the entries.
func (k *keeper) becomesLive(entries []ownership.Entry, lastApplied []byte) bool {
	annotation := ownership.LastAppliedPath()
	differs := annotation // of a client-side applier, whose entry comes to contain it
	if k.write.Sender.ServerSide() {
		differs = nil
	}
	live, incoming := k.write.Live.At(annotationNames...), k.write.Incoming.At(annotationNames...)
	if (live == nil) != (incoming == nil) || !bytes.Equal(lastApplied, lastAppliedOf(k.write.Live)) || !ownership.SameFieldsBut(entries, k.write.LiveEntries, differs) {
		return false
	}
	ignored := generated(k.write)
	for _, p := range k.pieces {
		if !bytes.Equal(p.value, k.live.Of(p.top).Text()) {
			return false
		}
		ignored = append(ignored, k.live.Of(p.top), k.incoming.Of(p.top))
	}
	return jsontree.EqualBut(k.write.Live.At(), k.write.Incoming.At(), ignored...)
}

// generated returns the managedFields and the last-applied annotation of both objects.
func generated(w ownership.Write) (found []*jsontree.Node) {
	for _, o := range []ownership.Object{w.Live, w.Incoming} {
		found = append(found, o.At("metadata", "managedFields"), o.At(annotationNames...))
	}
	return found
}
