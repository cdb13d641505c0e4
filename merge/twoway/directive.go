package twoway

// patchDirective is the field by which manifest says how its object or its list merges
// (https://github.com/kubernetes/community, sig-api-machinery/strategic-merge-patch.md).
const patchDirective = "$patch"

// directive is what a $patch says.
type directive string

const (
	merges   directive = "merge" // what goes without saying
	replaces directive = "replace"
	deletes  directive = "delete"
)

// directiveOf returns what the manifest says of its own object.
func directiveOf(manifest map[string]any) (directive, error) {
	value, ok := manifest[patchDirective]
	if !ok {
		return merges, nil
	}
	text, _ := value.(string)
	switch said := directive(text); said {
	case merges, replaces, deletes:
		return said, nil
	}
	return merges, wrong(inManifest, ErrUnknownDirective, "%s is %v", patchDirective, value)
}

// listDirectiveOf returns what the manifest says of its own list, in an element that holds nothing else, and the elements that
// remain without it.
func listDirectiveOf(manifest []any) (directive, []any, error) {
	said, found := merges, false
	for _, element := range manifest {
		if !isDirective(element) {
			continue
		}
		object, _ := element.(map[string]any)
		next, err := directiveOf(object)
		if err != nil {
			return merges, nil, err
		}
		if found && next != said {
			return merges, nil, wrong(inManifest, ErrUnknownDirective, "one list has both %s %s and %s", patchDirective, said, next)
		}
		said, found = next, true
	}
	if !found {
		return merges, manifest, nil
	}
	return said, without(manifest, isDirective), nil
}

// isDirective says whether an element of a list holds a $patch and nothing else.
func isDirective(element any) bool {
	object, ok := element.(map[string]any)
	if !ok || len(object) != 1 {
		return false
	}
	_, ok = object[patchDirective]
	return ok
}
