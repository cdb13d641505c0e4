package config

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/ownership"
)

// Rule makes controllers the owners of the fields that they write on matching objects.
type Rule struct {
	// Name identifies the rule in kubectl handoff explain and rules.
	Name string `json:"name"`
	// Kinds select the objects by their kind; none selects all.
	Kinds []RuleKind `json:"kinds,omitempty"`
	// Namespaces are names or path.Match patterns; none selects all that have opted in.
	Namespaces []string `json:"namespaces,omitempty"`
	// Selector selects the objects by their labels; an empty one selects all.
	Selector metav1.LabelSelector `json:"selector,omitzero"`
	// Fields are paths in the format of the API server's conflict errors, with * for any key: see ownership.ParsePattern.
	Fields []string `json:"fields"`
	// Writers are the field managers that own the fields once they have written them; none stands for all that are neither appliers nor
	// imperative, and * for all: see ownership.Rule.
	Writers []string `json:"writers,omitempty"`
	// Edit is "keep" or "apply" (ownership.Edit). Empty is keep.
	Edit string `json:"edit"`
}

// Edits returns Edit, or its default.
func (r Rule) Edits() ownership.Edit { return cmp.Or(ownership.Edit(r.Edit), ownership.EditKeep) }

// ParsedRules returns the rules in the form in which decisions use them. The error names the invalid field.
func (c HandoffConfiguration) ParsedRules() (ownership.Rules, error) {
	rules := make([]ownership.Rule, 0, len(c.Rules))
	for i, rule := range c.Rules {
		parsed, err := rule.parse()
		if err != nil {
			return ownership.Rules{}, c.inRule(i, err)
		}
		rules = append(rules, parsed)
	}
	return ownership.NewRules(rules...), nil
}

var ruleName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`)

func (r Rule) parse() (parsed ownership.Rule, err error) {
	parsed = ownership.Rule{Name: r.Name, Namespaces: r.Namespaces, Writers: r.Writers, Edit: r.Edits()}
	if _, name := PackOf(r.Name); !ruleName.MatchString(name) {
		return parsed, inField("name", fmt.Errorf("%q is not a name; use lowercase letters, digits, - and ., such as right-sizer", r.Name))
	}
	for i, kind := range r.Kinds {
		if err := kind.validate(); err != nil {
			return parsed, inField(fmt.Sprintf("kinds[%d]", i), err)
		}
		parsed.Kinds = append(parsed.Kinds, schema.GroupKind{Group: kind.Group, Kind: kind.Kind})
	}
	for i, namespace := range r.Namespaces {
		if _, err := path.Match(namespace, ""); err != nil || namespace == "" || namespace != strings.ToLower(strings.TrimSpace(namespace)) {
			return parsed, inField(fmt.Sprintf("namespaces[%d]", i), fmt.Errorf(
				"%q is neither a namespace nor a pattern, such as shop-*; correct it, or delete it to match all", namespace))
		}
	}
	if len(r.Namespaces) > 0 && len(r.Kinds) > 0 && !slices.ContainsFunc(r.Kinds, RuleKind.isNamespaced) {
		return parsed, inField("namespaces", errors.New("objects of these kinds are in no namespace; delete it"))
	}
	if parsed.Selector, err = metav1.LabelSelectorAsSelector(&r.Selector); err != nil {
		return parsed, inField("selector", fmt.Errorf("%w; correct it", err))
	}
	if len(r.Fields) == 0 {
		return parsed, inField("fields", errors.New("must not be empty; list at least one path"))
	}
	for i, field := range r.Fields {
		pattern, err := ownership.ParseRuled(field)
		if err == nil {
			err = validateShape(field, pattern, r.Kinds)
		}
		if err != nil {
			return parsed, inField(fmt.Sprintf("fields[%d]", i), err)
		}
		parsed.Fields = append(parsed.Fields, pattern)
	}
	switch parsed.Edit {
	case ownership.EditKeep, ownership.EditApply:
		return parsed, nil
	default:
		return parsed, inField("edit", fmt.Errorf("%q is neither keep nor apply; correct or delete it", r.Edit))
	}
}

// validateRules returns an error about rules that contradict each other or the lists of managers.
func (c HandoffConfiguration) validateRules(managers []listed[string]) error {
	if _, err := c.ParsedRules(); err != nil {
		return err
	}
	for i, rule := range c.Rules {
		err := validateWriters(rule, managers)
		pack, _ := PackOf(rule.Name)
		for j := 0; j < i && err == nil; j++ {
			if earlier, _ := PackOf(c.Rules[j].Name); earlier != "" || pack == "" { // a rule of the file decides before those of packs
				err = c.Rules[j].contradicts(rule, j)
			}
		}
		if err != nil {
			return c.inRule(i, err)
		}
	}
	return nil
}

// validateWriters returns an error for a writer of a rule that is not valid, and for one that is also listed as an applier or as
// imperative, which the rule would overrule.
func validateWriters(rule Rule, managers []listed[string]) error {
	for i, writer := range rule.Writers {
		err := validateManager(writer)
		at := slices.IndexFunc(managers, func(l listed[string]) bool {
			same, _ := path.Match(writer, l.value)
			isApplier, _ := path.Match(l.value, writer)
			return (same || writer == l.value) && l.field != "autoscalers" || isApplier && l.field == "appliers"
		})
		switch isAny := writer == ownership.AnyWriter; {
		case err != nil:
			err = fmt.Errorf("%q %w", writer, err)
		case isAny && len(rule.Writers) > 1:
			err = errors.New(`"*" matches every manager; delete the others`)
		case !isAny && at >= 0 && writer == managers[at].value:
			err = fmt.Errorf("%q is also in %s; remove it from one of them%s", writer, managers[at].field, managers[at].removeDefault())
		case !isAny && at >= 0 && !strings.ContainsAny(writer, "*?["):
			err = fmt.Errorf("%q matches %s in %s; remove it from one of them%s",
				writer, managers[at].value, managers[at].field, managers[at].removeDefault())
		case !isAny && at >= 0:
			err = fmt.Errorf("%q matches %s in %s; write a pattern that does not, or the managers' names", writer, managers[at].value, managers[at].field)
		}
		if err != nil {
			return inField(fmt.Sprintf("writers[%d]", i), err)
		}
	}
	return nil
}

// contradicts returns an error if a later rule is about the same field of the same objects and has the same name or another Edit. Of a
// field and its parent, each can be meant for other objects: kubectl handoff rules reports those that never decide.
func (r Rule) contradicts(later Rule, index int) error {
	if r.Name == later.Name {
		return inField("name", fmt.Errorf("%q is also the name of rules[%d]; rename one of them", r.Name, index))
	}
	if r.Edits() == later.Edits() || !r.overlaps(later) {
		return nil
	}
	for i, field := range later.Fields {
		if slices.Contains(r.Fields, field) {
			return inField(fmt.Sprintf("fields[%d]", i), fmt.Errorf(
				"%s is also in rule %s with edit: %s, and here with edit: %s; delete it from one of them", field, r.Name, r.Edits(), later.Edits()))
		}
	}
	return nil
}

// overlaps reports whether two rules share a kind and a writer, and select the same namespaces and labels.
func (r Rule) overlaps(other Rule) bool {
	isAny := func(name string) bool { return name == "" || name == "*" }
	meet := func(a, b string) bool { return a == b || isAny(a) || isAny(b) }
	sharesKind := len(r.Kinds) == 0 || len(other.Kinds) == 0
	for _, a := range r.Kinds {
		for _, b := range other.Kinds {
			sharesKind = sharesKind || meet(a.Group, b.Group) && meet(a.Kind, b.Kind)
		}
	}
	isOpen := func(r Rule) bool { return len(r.Writers) == 0 || slices.Contains(r.Writers, ownership.AnyWriter) }
	sharesWriter := isOpen(r) || isOpen(other) || slices.ContainsFunc(r.Writers, func(w string) bool { return slices.Contains(other.Writers, w) })
	return sharesKind && sharesWriter && slices.Equal(r.Namespaces, other.Namespaces) && reflect.DeepEqual(r.Selector, other.Selector)
}
