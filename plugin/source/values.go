package source

import (
	"bytes"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// This file decides which values are shown. All code that prints a value uses Show or Visible, and all code that prints a whole
// object uses Masked.

// hiddenText replaces a value that is not shown.
const hiddenText = "***"

// Show returns a field's value for people.
func (s Subject) Show(path fieldpath.Path, value []byte) string {
	if value == nil {
		return "(gone)"
	}
	if shown := s.Visible(path, value); shown != nil {
		return string(bytes.TrimSpace(shown))
	}
	return hiddenText
}

// Visible returns the part of a field's value that is shown, nil for none.
func (s Subject) Visible(path fieldpath.Path, value []byte) []byte {
	if value == nil || s.Hidden(path) {
		return nil
	}
	if hidden := ownership.LastAppliedPath(); fieldpattern.HasPrefix(hidden, path) { // the value contains the annotation
		return without(value, hidden[len(path):])
	}
	return value
}

// Hidden reports whether a field's value is hidden completely. That is the case for the last-applied annotation, and for the
// contents and annotations of a Secret, because tools keep copies of manifests in annotations.
func (s Subject) Hidden(path fieldpath.Path) bool {
	if fieldpattern.HasPrefix(path, ownership.LastAppliedPath()) {
		return true
	}
	return s.IsSecret() && !harmless(path)
}

// harmless reports whether a field of a Secret reveals nothing about its contents.
func harmless(path fieldpath.Path) bool {
	switch {
	case len(path) == 0:
		return false
	case len(path) > 1 && fieldpattern.IsNamed(path[0], "metadata"):
		return path[1].FieldName != nil && !fieldpattern.IsNamed(path[1], "annotations")
	default:
		return fieldpattern.IsNamed(path[0], "apiVersion", "kind", "type", "immutable")
	}
}

// Masked returns an object for printing: a Secret without its contents, any other object unchanged.
func Masked(o *unstructured.Unstructured) *unstructured.Unstructured {
	if IdentityOf(o).IsSecret() {
		o = o.DeepCopy()
		mask(o.Object)
	}
	return o
}

// mask hides the values of fields at a path that can reveal the contents of a Secret, and keeps their names.
func mask(fields map[string]any, path ...fieldpath.PathElement) {
	for name, value := range fields {
		at := append(slices.Clip(path), fieldpath.PathElement{FieldName: &name})
		nested, ok := value.(map[string]any)
		switch {
		case harmless(at):
		case ok:
			mask(nested, at...)
		default:
			fields[name] = hiddenText
		}
	}
}

// Nameless reports whether the path of a Secret's field can contain a value: the paths of list elements contain keys or values.
func (s Subject) Nameless(path fieldpath.Path) bool {
	byValue := func(e fieldpath.PathElement) bool { return e.Key != nil || e.Value != nil }
	return s.IsSecret() && !harmless(path) && slices.ContainsFunc(path, byValue)
}

// WithoutGenerated returns an object without its status and without the metadata that the API server generates for it.
func WithoutGenerated(object []byte) []byte {
	generated := apitypes.GeneratedMetadata()
	paths := append(make([]fieldpath.Path, 0, 1+len(generated)), fieldpath.MakePathOrDie("status"))
	for _, name := range generated {
		paths = append(paths, fieldpath.MakePathOrDie("metadata", name))
	}
	return without(object, paths...)
}

// without returns a value without the fields at paths. Their parents stay, even if they become empty.
func without(value []byte, paths ...fieldpath.Path) []byte {
	root := jsontree.Valid(value)
	for _, path := range paths {
		root.Cut(path, func(fieldpath.Path) bool { return false })
	}
	return root.Remaining()
}
