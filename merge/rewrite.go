package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
)

// Rewrite carries out the decisions on the fields of a write. It returns the JSON patch on the incoming object, and the changes that the
// patch makes, with those that are only reported. Depending on the verdict of a change, the patch
//   - restores the field, with live's value and managedFields entries, and removes it from the last-applied annotation (Keep)
//   - gives it the value of Field.Live (Start, Record)
//   - removes it from the incoming object and from every managedFields entry (Clear)
//   - does nothing (Warn)
//
// A field to keep can get the verdict ManifestWins instead. It is left out if no field has to be restored. The path of a field has at most
// jsontree.MaxDepth elements, and the incoming object has the list element that it is in.
//
// If the incoming object lacks parents of the scale field, the patch restores the outermost of them as it is in live: the API
// server has accepted it like that. Missing parents of the fields of rules come back with these fields only, and of a unit only
// the map that it is a key of. Fields inside an atomic field stay in the last-applied annotation: the manifest sets the rest.
//
// If the write changes nothing else, the result is the live object, byte for byte: the API server then stores nothing, and the
// resourceVersion stays the same. The error is ownership.ErrManagedFields or ErrNotRestored.
func Rewrite(w ownership.Write, changes []*Change) (out Outcome, err error) {
	k := newKeeper(w, changes)
	k.plan()
	cleared, restored := k.values()
	lastApplied, cut := k.lastApplied()
	k.findParts()
	entries, err := k.restoreEntries()
	if err != nil {
		return out, err
	}
	managedFields, err := k.managedFields(entries, lastApplied, len(cleared) == 0)
	if err != nil {
		return out, err
	}
	out.Operations = slices.Concat(cleared, restored, cut, managedFields)
	isIdle := len(out.Operations) == len(cleared)
	for _, f := range k.fields {
		if (!isIdle || !f.change.restores()) && f.change.Decision.Verdict != Record {
			out.Changes = append(out.Changes, f.change)
		}
	}
	return out, k.verify(restored, entries)
}

// keeper carries out the decisions on the fields of one write.
type keeper struct {
	write          ownership.Write
	tree           *fieldtree.Tree
	fields         []*decidedField // in the order of the changes
	live, incoming fieldtree.Places
	pieces         []*piece

	sizes map[*fieldtree.Node]int // of the maps that get keys back
	parts parts
}

// decidedField is a field with a decision.
type decidedField struct {
	change *Change
	node   *fieldtree.Node
	atomic *fieldtree.Node // the atomic field that contains it, nil if there is none
	top    *fieldtree.Node // that of the piece that restores it, nil if it is not restored
}

// piece is a part of the object that one operation restores: a kept field, or the outermost missing parent of one or more
// kept fields.
type piece struct {
	top    *fieldtree.Node
	fields []*decidedField
	// value is the value that it gets, as JSON.
	value json.RawMessage
	// whole reports whether it gets live's value, with everything in it, rather than the kept fields only.
	whole bool
}

func newKeeper(w ownership.Write, changes []*Change) *keeper {
	k := &keeper{write: w, tree: &fieldtree.Tree{}, sizes: map[*fieldtree.Node]int{}}
	for _, c := range changes {
		f := &decidedField{change: c}
		if c.restores() && c.Reason == "" {
			f.node = k.tree.Add(c.Field.Path)
		} else {
			f.node = k.tree.AddUnwanted(c.Field.Path) // not kept, nor with it what is nested under it
		}
		f.atomic = k.tree.AddUnwanted(c.Field.Path[:c.Field.Atomic])
		k.fields = append(k.fields, f)
	}
	k.live, k.incoming = k.tree.Find(w.Live.At()), k.tree.Find(w.Incoming.At())
	return k
}

// plan decides whether the manifest wins over a field to restore, and groups the others into pieces.
func (k *keeper) plan() {
	for _, f := range k.fields {
		if reason := k.manifestWins(f); reason != "" {
			f.letManifestWin(reason)
		}
	}
	byTop := make([]*piece, k.tree.Len()) // by Node.ID
	for _, f := range k.fields {
		if !f.change.restores() {
			continue
		}
		if f.top = k.topOf(f); f.top == nil {
			f.letManifestWin("the manifest sets a value of another type")
			continue
		}
		p := byTop[f.top.ID]
		if p == nil {
			p = &piece{top: f.top}
			byTop[f.top.ID] = p
			k.pieces = append(k.pieces, p)
		}
		p.fields = append(p.fields, f)
		p.whole = p.whole || f.top.Wanted || f.change.Field.Scale
	}
	for _, p := range k.pieces {
		p.value = k.valueOf(p)
	}
}

// letManifestWin lets the manifest win over a field to restore, so that no other field is restored with it.
func (f *decidedField) letManifestWin(reason string) {
	wins := *f.change
	wins.Decision.Verdict, wins.Decision.message, wins.Reason = ManifestWins, manifestWins, reason
	f.change, f.node.Wanted = &wins, false
}

// topOf returns the node to restore for a kept field: the outermost kept field that contains it, or the outermost parent that is
// missing or null. It returns nil if the manifest gives its parent a value of another type.
func (k *keeper) topOf(f *decidedField) (top *fieldtree.Node) {
	for p := f.node; p != nil; p = p.Parent() {
		if p.Wanted {
			top = p
		}
		if value := k.incoming.Of(p); value == nil || value.IsNull() {
			top = p
		}
	}
	if parent := top.Parent(); parent != nil && top.IsField() && !k.incoming.Of(parent).IsObject() {
		return nil
	}
	return top
}

// valueOf returns the value that a piece gets.
func (k *keeper) valueOf(p *piece) json.RawMessage {
	if first := p.fields[0]; first.node == p.top {
		return first.change.Field.Live
	}
	if p.whole {
		return k.live.Of(p.top).Text()
	}
	parent := map[string]any{}
	for _, f := range p.fields {
		in, names := parent, f.node.Names(p.top)
		for _, name := range names[:len(names)-1] {
			child, ok := in[name].(map[string]any)
			if !ok {
				child = map[string]any{}
				in[name] = child
			}
			in = child
		}
		in[names[len(names)-1]] = json.RawMessage(f.change.Field.Live)
	}
	text, _ := json.Marshal(parent) //nolint:errchkjson // the values are JSON
	return text
}

// values returns the operations that clear fields, and one for each piece that has another value in the incoming object.
func (k *keeper) values() (cleared, restored []Operation) {
	for _, f := range k.fields {
		if f.change.Decision.Verdict == Clear {
			cleared = append(cleared, Operation{Op: "remove", Path: k.incoming.Pointer(f.node)})
		}
	}
	for _, p := range k.pieces {
		op := "add"
		if !p.top.IsField() { // before an element, add would insert another one
			op = "replace"
		}
		if !bytes.Equal(k.incoming.Of(p.top).Text(), p.value) {
			restored = append(restored, Operation{Op: op, Path: k.incoming.Pointer(p.top), Value: p.value})
		}
	}
	return cleared, restored
}

// lastApplied returns the last-applied annotation without the kept fields, and the operation that sets it, none if that changes nothing.
// Metadata and its annotations stay even if they become empty, as kubectl records them in every last-applied configuration.
func (k *keeper) lastApplied() (text []byte, operations []Operation) {
	text, _ = k.write.Incoming.Annotation(ownership.LastAppliedAnnotation).Bytes()
	if read, _ := k.write.Incoming.LastAppliedManifest(); read == nil {
		return text, nil
	}
	manifest := jsontree.Valid(text)
	manifest.Limit(k.write.Meter)
	annotations := ownership.LastAppliedPath()[:2]
	mayGo := func(parent fieldpath.Path) bool {
		return parent[len(parent)-1].FieldName != nil && !fieldpattern.HasPrefix(annotations, parent)
	}
	isCut := false
	for _, f := range k.fields {
		if f.top == nil || f.change.Field.Unit || f.atomic != nil {
			continue
		}
		path := f.change.Field.Path
		for _, path := range []fieldpath.Path{path, apitypes.StringData(k.write.Kind.GroupKind(), path)} {
			isCut = manifest.Cut(path, mayGo) != nil || isCut
		}
	}
	if !isCut {
		return text, nil
	}
	text = manifest.Remaining()
	pointer := k.write.Incoming.Annotation(ownership.LastAppliedAnnotation).PointerIn(k.write.Incoming.At())
	return text, []Operation{{Op: "replace", Path: pointer, Value: string(text)}}
}

// managedFields returns the operation that sets the entries in the incoming object, none if it has them already. onlyKept
// reports whether the rewrite clears no fields.
func (k *keeper) managedFields(entries []ownership.Entry, lastApplied []byte, onlyKept bool) ([]Operation, error) {
	// In the live object, the applier's entry may have another position, as its time is not that of this write.
	text, was := k.write.Live.ManagedFields(), k.write.Incoming.ManagedFields()
	if !onlyKept || len(k.pieces) == 0 || len(text) == 0 || !k.becomesLive(entries, lastApplied) {
		text, was = managedfields.Encode(entries), managedfields.Encode(managedfields.InOrder(k.write.IncomingEntries))
	}
	switch {
	case bytes.Equal(text, was):
		return nil, nil
	case !k.write.Incoming.At("metadata").IsObject():
		return nil, fmt.Errorf("%w: metadata: %w", ownership.ErrManagedFields, ownership.ErrNotAnObject)
	}
	return []Operation{{Op: "add", Path: "/metadata/managedFields", Value: json.RawMessage(text)}}, nil
}

// becomesLive reports whether the rewritten object equals the live object, except for the times and the order of the entries.
func (k *keeper) becomesLive(entries []ownership.Entry, lastApplied []byte) bool {
	var differs fieldpath.Path
	if !k.write.Sender.ServerSide() {
		differs = ownership.LastAppliedPath() // the entry of a client-side applier comes to contain it
	}
	live, incoming := k.write.Live.Annotation(ownership.LastAppliedAnnotation), k.write.Incoming.Annotation(ownership.LastAppliedAnnotation)
	was, _ := live.Bytes()
	isSame := (live == nil) == (incoming == nil) && bytes.Equal(lastApplied, was)
	if !isSame || !managedfields.SameFieldsBut(entries, k.write.LiveEntries, differs) {
		return false
	}
	ignored := records(k.write)
	for _, p := range k.pieces {
		if !bytes.Equal(p.value, k.live.Of(p.top).Text()) {
			return false
		}
		ignored = append(ignored, k.live.Of(p.top), k.incoming.Of(p.top))
	}
	return jsontree.EqualBut(k.write.Live.At(), k.write.Incoming.At(), ignored...)
}

// records returns the managedFields and the last-applied annotation of both objects.
func records(w ownership.Write) (found []*jsontree.Node) {
	for _, o := range []ownership.Object{w.Live, w.Incoming} {
		found = append(found, o.At("metadata", "managedFields"), o.Annotation(ownership.LastAppliedAnnotation))
	}
	return found
}

// ErrNotRestored is returned if the patch would not restore a kept field as Rewrite promises.
var ErrNotRestored = errors.New("the patch does not restore every kept field")

// verify compares the result of Rewrite with live, whatever it was made by: each piece has a value, no operation undoes another, and each
// managedFields entry manages the same parts as in live.
func (k *keeper) verify(restored []Operation, entries []ownership.Entry) error {
	paths := make([]string, len(restored))
	for i, o := range restored {
		paths[i] = o.Path + "/"
	}
	slices.Sort(paths) // a path comes right before those that are nested under it
	for i := 1; i < len(paths); i++ {
		if strings.HasPrefix(paths[i], paths[i-1]) {
			return fmt.Errorf("%w: two operations have the same path, or nested ones", ErrNotRestored)
		}
	}
	if slices.ContainsFunc(k.pieces, func(p *piece) bool { return len(p.value) == 0 }) {
		return fmt.Errorf("%w: a value is missing", ErrNotRestored)
	}
	return k.verifyEntries(entries)
}
