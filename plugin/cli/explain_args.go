package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// notFound returns the error that no object matches, with a remedy.
func (e *explainOptions) notFound(objects []string) error {
	remedy := "choose another namespace with -n, or all with -A"
	if e.subjects.allNamespaces || e.subjects.offline() {
		remedy = "omit --selector, or name other objects"
	}
	return fmt.Errorf("no %s found; %s", cmp.Or(strings.Join(objects, " "), "objects"), remedy)
}

// split separates the objects in the arguments from the FIELD.
func (e *explainOptions) split(args []string) (objects []string, field string) {
	maxObjects := 1 // arguments that name objects
	switch {
	case len(args) == 0:
		return nil, ""
	case isField(args[0]), e.subjects.offline() && isBareField(args[0]):
		maxObjects = 0
	case len(args) > 1 && !strings.Contains(args[0], "/") && e.subjects.selector == "" && !e.subjects.allNamespaces &&
		!isField(args[1]):
		maxObjects = 2
	}
	if len(args) <= maxObjects {
		return args, ""
	}
	return args[:maxObjects], strings.Join(args[maxObjects:], " ")
}

// isNamed reports whether the arguments name one object, as TYPE/NAME or TYPE NAME.
func isNamed(objects []string) bool {
	return len(objects) == 2 || len(objects) == 1 && strings.Contains(objects[0], "/")
}

// isField reports whether a word is a FIELD rather than an object.
func isField(word string) bool { return strings.ContainsAny(word[:min(1, len(word))], ".[{$") }

// isBareField reports whether a word is a FIELD without a leading dot. It is only recognized where a TYPE is not allowed.
func isBareField(word string) bool {
	kind, _, object := strings.Cut(word, "/")
	return !object || strings.ContainsAny(kind, "[\"")
}

func (e *explainOptions) chosen() (func(ownership.Owner) bool, error) {
	words := ownerWords()
	for _, word := range e.owners {
		if !slices.Contains(words, strings.ToLower(word)) {
			return nil, fmt.Errorf("invalid owner %q; use one of %s", word, strings.Join(words, ", "))
		}
	}
	return func(owner ownership.Owner) bool {
		same := func(word string) bool { return strings.EqualFold(word, owner.String()) }
		return len(e.owners) == 0 || slices.ContainsFunc(e.owners, same)
	}, nil
}

// applicable returns an error if --owner asks only for the autoscaler of an object that cannot have one.
func (e *explainOptions) applicable(explanations []explain.Explanation, chosen func(ownership.Owner) bool) error {
	only := len(e.owners) == 1 && chosen(ownership.Autoscaler)
	if s := explanations[0].Subject; only && len(explanations) == 1 && s.Context.Scale == nil && len(s.Gaps) == 0 {
		return fmt.Errorf("%s: kind %s has no scale subresource, so no autoscaler can own a field; "+
			"omit --owner to see who owns each field", s, s.Kind.Kind)
	}
	return nil
}
