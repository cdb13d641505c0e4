package merge

import (
	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// A unit is kept only if the API server accepts it whatever else the manifest sets, as far as its size and the names in it tell. A
// field of a rule is kept in any case, except for requests over limits, and the CA of a server that the manifest removes. In all other
// cases the user's rule, or the person who has set the unit, decides, and the API server's error arrives beside the warning that names
// the field.

// manifestWins returns the reason why the manifest wins over a field to restore, empty if it does not.
func (k *keeper) manifestWins(f *decidedField) string {
	switch {
	case !f.change.restores() || f.change.Field.Scale:
		return ""
	case f.change.Reason != "":
		return f.change.Reason
	}
	kept := apitypes.KeptField{
		Kind: k.write.Kind.GroupKind(), Path: f.change.Field.Path, Live: k.write.Live.At(), Incoming: k.write.Incoming.At(), IsKept: k.tree.Has,
	}
	if !f.change.Field.Unit {
		return kept.Contradicted()
	}
	if reason := kept.RefusedUnit(); reason != "" {
		return reason
	}
	names := f.node.Names(nil)
	switch names[len(names)-2] {
	case "data":
		binary := k.write.Incoming.At("binaryData")
		if binary.Member(names[len(names)-1]) != nil {
			return "the manifest sets it in binaryData"
		}
		sizeOf := func(key *jsontree.Node) int { return apitypes.DataSize(k.write.Kind.GroupKind(), key) }
		return k.tooLarge(f.node, apitypes.MaxData, sizeOf, binary)
	case "annotations":
		return k.tooLarge(f.node, apitypes.MaxAnnotations, apitypes.AnnotationSize, nil)
	}
	return ""
}

// tooLarge adds a key to the size of its map in the incoming object, and returns the reason if that exceeds the API server's limit. The
// size includes the keys of another map, and what the rewrite records in the map.
func (k *keeper) tooLarge(n *fieldtree.Node, limit int, sizeOf func(key *jsontree.Node) int, other *jsontree.Node) string {
	size, known := k.sizes[n.Parent()]
	if !known {
		for _, keys := range []*jsontree.Node{k.incoming.Of(n.Parent()), other} {
			for key := range keys.Parts() {
				size += sizeOf(key)
			}
		}
		for _, f := range k.fields {
			if f.change.Decision.Verdict == Record && f.node.Parent() == n.Parent() {
				size += len(ownership.AppliedAnnotation) + len(f.change.Field.Live)
			}
		}
	}
	if with := size + sizeOf(k.live.Of(n)); with <= limit {
		k.sizes[n.Parent()] = with
		return ""
	}
	k.sizes[n.Parent()] = size
	return "the API server's size limit would be exceeded"
}
