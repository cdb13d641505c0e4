package merge

import (
	"encoding/json"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/ownership"
)

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

// parts are the parts of an object whose managedFields entries the rewrite sets.
type parts struct {
	// kept reports, by Node.ID, of which nodes each entry manages the same as in live: of kept fields, and of the parent of the scale
	// field that is restored with it. gone are those that no entry manages afterwards: cleared fields and ownership.AppliedAnnotation.
	kept, gone []bool
	// scale is the node of the scale field, or of its restored parent; nil if it is not kept.
	scale *fieldtree.Node
	// shared are the atomic fields of which the write changes more than is kept, so that the sender manages them as well.
	shared map[*fieldtree.Node]bool
	// parents are the missing parents that come back with nothing but kept fields. Each entry contains them as in live.
	parents *fieldpath.Set
	// unmanaged reports whether a kept field is in no entry of live: it was written through another API version.
	unmanaged bool
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

// inside returns the atomic field that contains the piece, nil if there is none.
func (p *piece) inside() *fieldtree.Node {
	atomic := p.fields[0].atomic
	if atomic == nil || atomic.Depth() >= p.top.Depth() {
		return nil
	}
	return atomic
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
