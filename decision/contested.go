package decision

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// contested are the fields of a write that its writer and somebody else may both have a say in.
type contested struct {
	paths     []fieldpath.Path
	manifests ownership.Manifests
	managers  ownership.Managers

	scale      fieldpath.Path // nil where there is none
	autoscaler string
	patterns   []ownership.Pattern
}

// contested finds the fields: the scale field and, for an applier, what rules give to controllers and what its manifest
// lets go of. A field that live does not have is nobody's to keep.
func (t Table) contested(r Request, w merge.Write, out *Outcome) (c contested, err error) {
	c.managers = t.Managers
	if path := t.Cluster.ScalePath(r.Kind.Group, r.Kind.Version, r.Kind.Kind); path != nil && r.Live.Value(path) != nil {
		c.scale, c.paths = path, []fieldpath.Path{path}
		c.autoscaler, _ = t.Cluster.Autoscaler(r.Namespace, r.Kind.Group, r.Kind.Kind, r.Name)
	}
	if w.Author.Writer != ownership.Applier {
		return c, nil
	}
	if c.manifests, err = ownership.ManifestsOf(w.Author, r.Live, r.Incoming, w.LiveEntries); err != nil {
		return c, err
	}
	c.patterns, out.Unread = t.patterns(r)
	controlled, err := t.Managers.Controlled(w.LiveEntries, c.patterns)
	if err != nil {
		return c, err
	}
	letGo, err := t.Managers.LetGo(w.LiveEntries, c.manifests)
	if err != nil {
		return c, err
	}
	for _, path := range slices.Concat(controlled, letGo) {
		if r.Live.Value(path) != nil && !slices.ContainsFunc(c.paths, path.Equals) {
			c.paths = append(c.paths, path)
		}
	}
	return c, nil
}

// contextOf returns what is known about a field beyond the object.
func (c contested) contextOf(path fieldpath.Path) ownership.Context {
	context := ownership.Context{Managers: c.managers, Scale: c.scale != nil && path.Equals(c.scale)}
	if context.Scale {
		context.Autoscaler = c.autoscaler
	}
	context.Controlled = slices.ContainsFunc(c.patterns, func(p ownership.Pattern) bool { return p.Covers(path) })
	return context
}

// patterns returns the rules of the configuration and of the object that give fields to controllers. A path of the
// object's that does not parse counts for nothing and is the error.
func (t Table) patterns(r Request) (patterns []ownership.Pattern, unread error) {
	for _, rule := range t.Rules {
		if rule.Fits(r.Kind.Group, r.Kind.Kind) {
			patterns = append(patterns, rule.Fields...)
		}
	}
	text, ok := r.Incoming.ControllerFields()
	if !ok {
		return patterns, nil
	}
	own, unread := ownership.ParseControllerFields(text)
	return append(patterns, own...), unread
}
