package threeway

import (
	"maps"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// scalars merges two decoded objects map by map if the manifest sets nothing but scalars over scalars, as in a ConfigMap's data.
// With nodes, that would be slower than strategicpatch. It returns nil for other objects, and if the options keep or report
// changes.
func (m *merger) scalars(base, manifest, live *node, place schema.Schema) *node {
	wanted, isDecoded := manifest.Value.(map[string]any)
	had, isDecodedToo := live.Value.(map[string]any)
	strategy := place.Strategy().Object
	isMerged := strategy == schema.MergeFields || strategy == schema.MergePatchFields
	if !isDecoded || !isDecodedToo || !isMerged || m.options.Keep != nil || m.options.Report != nil {
		return nil
	}
	merged, isCopied := had, false
	edit := func() map[string]any {
		if !isCopied {
			merged, isCopied = make(map[string]any, len(had)+1), true
			maps.Copy(merged, had)
		}
		return merged
	}
	for name, want := range wanted {
		old, isThere := had[name]
		if !isScalar(want) || isThere && !isScalar(old) {
			return nil
		}
		if !isThere || old != want {
			edit()[name] = want
		}
	}
	var dropped map[string]any
	if base != nil {
		dropped, _ = base.Value.(map[string]any)
	}
	for name := range dropped {
		if _, stays := wanted[name]; stays {
			continue
		}
		if isPatchDirective(name) {
			return nil
		}
		if _, isThere := had[name]; isThere {
			delete(edit(), name)
		}
	}
	if !isCopied {
		return live
	}
	return &node{Kind: '{', Value: merged}
}

// isScalar reports whether a decoded value is a scalar of a type that can be compared.
func isScalar(value any) bool {
	switch value.(type) {
	case string, bool, int64, float64:
		return true
	default:
		return false
	}
}
