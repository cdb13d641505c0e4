package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// nothing says that no object is there, and where to look for some.
func (e *explainOptions) nothing(objects []string) error {
	where := "look into other namespaces with -n or -A"
	if e.allNamespaces || e.offline() {
		where = "leave out --selector, or name others"
	}
	return fmt.Errorf("there are no %s; %s", cmp.Or(strings.Join(objects, " "), "objects"), where)
}

// split tells the objects of the arguments from the FIELD.
func (e *explainOptions) split(args []string) (objects []string, field string) {
	most := 1 // words that name objects
	switch {
	case len(args) == 0:
		return nil, ""
	case isField(args[0], e.offline()):
		most = 0
	case len(args) > 1 && !strings.Contains(args[0], "/") && e.selector == "" && !e.allNamespaces && !isField(args[1], false):
		most = 2
	}
	if len(args) <= most {
		return args, ""
	}
	return args[:most], strings.Join(args[most:], " ")
}

// isField says whether a word is a FIELD and no object. One without a leading dot is known only where no TYPE can stand.
func isField(word string, offline bool) bool {
	if strings.ContainsAny(word[:min(1, len(word))], ".[{$") {
		return true
	}
	kind, _, object := strings.Cut(word, "/")
	return offline && (!object || strings.ContainsAny(kind, "[\""))
}

func (e *explainOptions) chosen() (func(ownership.Owner) bool, error) {
	words := ownerWords()
	for _, word := range e.owners {
		if !slices.Contains(words, strings.ToLower(word)) {
			return nil, fmt.Errorf("owner %q is not known; write one of %s", word, strings.Join(words, ", "))
		}
	}
	return func(owner ownership.Owner) bool {
		same := func(word string) bool { return strings.EqualFold(word, owner.String()) }
		return len(e.owners) == 0 || slices.ContainsFunc(e.owners, same)
	}, nil
}

// applicable refuses a question for the autoscaler of an object that can have none.
func (e *explainOptions) applicable(explanations []explain.Explanation, chosen func(ownership.Owner) bool) error {
	only := len(e.owners) == 1 && chosen(ownership.Autoscaler)
	if first := explanations[0]; only && len(explanations) == 1 && first.Context.Scale == nil && len(first.Gaps) == 0 {
		return fmt.Errorf("%s: its kind, %s, has no scale subresource, so that no autoscaler can own a field of it; "+
			"leave out --owner to see whose its fields are", first, first.Kind.Kind)
	}
	return nil
}
