package twoway

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
func directiveOf(manifest map[string]any) (directive, error) {
	value, ok := manifest[patchDirective]
	if !ok {
		return merges, nil
	}
	text, _ := value.(string)
	switch d := directive(text); d {
	case merges, replaces, deletes:
		return d, nil
	}
	return merges, wrong(inManifest, ErrUnknownDirective, "%s is %v", patchDirective, value)
}

// listDirectiveOf returns the directive of a manifest's list, and the list without the elements that contain it.
func listDirectiveOf(manifest []any) (directive, []any, error) {
	d, found := merges, false
	for _, element := range manifest {
		if !isDirective(element) {
			continue
		}
		object, _ := element.(map[string]any)
		next, err := directiveOf(object)
		if err != nil {
			return merges, nil, err
		}
		if found && next != d {
			return merges, nil, wrong(inManifest, ErrUnknownDirective, "one list has both %s %s and %s", patchDirective, d, next)
		}
		d, found = next, true
	}
	if !found {
		return merges, manifest, nil
	}
	return d, without(manifest, isDirective), nil
}

// isDirective reports whether an element of a list is an object with $patch as its only field.
func isDirective(element any) bool {
	object, ok := element.(map[string]any)
	if !ok || len(object) != 1 {
		return false
	}
	_, ok = object[patchDirective]
	return ok
}
