package twoway

import "slices"

// patchDirective is the field by which a manifest chooses how its object or list merges
// (https://github.com/kubernetes/community, sig-api-machinery/strategic-merge-patch.md).
const patchDirective = "$patch"

// directive is a value of $patch.
type directive string

const (
	merges   directive = "merge" // the default
	replaces directive = "replace"
	deletes  directive = "delete"
)

// directiveOf returns the directive of a manifest's object.
func (m *merger) directiveOf(manifest *node) (directive, error) {
	value := manifest.Field(patchDirective, 0)
	if value == nil {
		return merges, nil
	}
	text := textOf(value)
	switch d := directive(text); {
	case value.Kind != '"':
	case d == merges, d == replaces, d == deletes:
		return d, nil
	}
	return merges, m.at.Wrong(inManifest, ErrUnknownDirective, "%s is %s", patchDirective, text)
}

// listDirectiveOf returns the directive of a manifest's list, and the list without the elements that contain it.
func (m *merger) listDirectiveOf(manifest *node) (directive, *node, error) {
	d, found := merges, false
	for i := range manifest.Children {
		element := &manifest.Children[i]
		if !isDirective(*element) {
			continue
		}
		next, err := m.directiveOf(&element.Node)
		if err != nil {
			return merges, nil, err
		}
		if found && next != d {
			return merges, nil, m.at.Wrong(inManifest, ErrUnknownDirective, "one list has both %s %s and %s", patchDirective, d, next)
		}
		d, found = next, true
	}
	if !found {
		return merges, manifest, nil
	}
	rest := listOf(slices.DeleteFunc(slices.Clone(manifest.Children), isDirective))
	return d, rest, nil
}

// isDirective reports whether an element of a list is an object with $patch as its only field.
func isDirective(element member) bool {
	return element.Node.Kind == '{' && len(element.Node.Children) == 1 && element.Node.Children[0].Name == patchDirective
}
