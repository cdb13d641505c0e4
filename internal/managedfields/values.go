package managedfields

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// ManagedValues returns how many values, outside of lists and within jsontree.MaxDepth, a set contains that a manifest and the object have.
func ManagedValues(set, manifest, object *jsontree.Node) (managed int) {
	return managedValues(nil, set, manifest, object)
}

func managedValues(path fieldpath.Path, set, manifest, live *jsontree.Node) (managed int) {
	depth := len(path)
	for part := range set.Parts() {
		name, isField := strings.CutPrefix(part.Name(), "f:")
		if declared := manifest.Member(name); isField && declared != nil && depth < jsontree.MaxDepth {
			is := live.Member(name)
			path = append(path[:depth], fieldpath.FieldNameElement(name))
			managed += managedValues(path, part, declared, is)
			if isValue(path, declared) && apitypes.SameValue(is.Text(), declared.Text()) {
				managed++
			}
		}
	}
	return managed
}

// Values returns how many such values a manifest declares, without those that identify the object.
func Values(manifest *jsontree.Node) int { return valuesIn(nil, manifest) }

func valuesIn(path fieldpath.Path, manifest *jsontree.Node) (values int) {
	depth := len(path)
	if !manifest.IsObject() || depth == jsontree.MaxDepth {
		return 0
	}
	for part := range manifest.Parts() {
		path = append(path[:depth], fieldpath.FieldNameElement(part.Name()))
		values += valuesIn(path, part)
		if isValue(path, part) {
			values++
		}
	}
	return values
}

// isValue reports whether a manifest declares a scalar at a path that does not identify the object.
func isValue(path fieldpath.Path, declared *jsontree.Node) bool {
	return !declared.IsObject() && !declared.IsNull() && declared.Kind() != '[' && !apitypes.IsIdentity(path)
}
