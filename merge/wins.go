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

// manifestWins returns the reason why the manifest wins over a field to keep, empty if the field is kept.
func (k *keeper) manifestWins(f *decidedField) string {
	switch {
	case f.node == nil:
		return "the field is nested too deeply"
	case f.change.Field.Scale:
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
		if k.write.Incoming.At("binaryData", names[len(names)-1]) != nil {
			return "the manifest sets it in binaryData"
		}
		return k.tooLarge(f.node, apitypes.MaxData)
	case "annotations":
		return k.tooLarge(f.node, apitypes.MaxAnnotations)
	default:
		return ""
	}
}

// tooLarge adds a key to the size of the map of the incoming object, and returns the reason if that exceeds a limit.
func (k *keeper) tooLarge(n *fieldtree.Node, limit int) string {
	parent := n.Parent()
	if _, ok := k.sizes[parent]; !ok {
		k.sizes[parent] = k.sizeOf(parent, limit)
	}
	size := k.sizes[parent] + k.lengthOf(k.live.Of(n), limit)
	if size > limit {
		return "the API server's size limit would be exceeded"
	}
	k.sizes[parent] = size
	return ""
}

// sizeOf returns the size of a map of the incoming object, as the API server limits it, with what the rewrite records in it.
func (k *keeper) sizeOf(parent *fieldtree.Node, limit int) (size int) {
	maps := []*jsontree.Node{k.incoming.Of(parent)}
	if limit == apitypes.MaxData {
		maps = append(maps, k.write.Incoming.At("binaryData"))
	}
	for _, object := range maps {
		for part := range object.Parts() {
			size += k.lengthOf(part, limit)
		}
	}
	for _, f := range k.fields {
		if f.change.Decision.Verdict == Record && f.node.Parent() == parent {
			size += len(ownership.AppliedAnnotation) + len(f.change.Field.Live)
		}
	}
	return size
}

// lengthOf returns what a key of a map counts. The names of annotations count, those of data do not.
func (k *keeper) lengthOf(member *jsontree.Node, limit int) int {
	if limit == apitypes.MaxAnnotations {
		return apitypes.AnnotationSize(member)
	}
	return apitypes.DataSize(k.write.Kind.GroupKind(), member)
}
