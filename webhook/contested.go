package webhook

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// contested are the fields of a review that its writer and somebody else may both have a say in.
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
func (h *Handler) contested(r *review, w merge.Write, out *outcome) (c contested, err error) {
	c.managers = h.Managers
	if path := h.Cluster.ScalePath(r.kind.Group, r.kind.Version, r.kind.Kind); path != nil && r.live.Value(path) != nil {
		c.scale, c.paths = path, []fieldpath.Path{path}
		c.autoscaler, _ = h.Cluster.Autoscaler(r.namespace, r.kind.Group, r.kind.Kind, r.name)
	}
	if w.Author.Writer != ownership.Applier {
		return c, nil
	}
	if c.manifests, err = ownership.ManifestsOf(w.Author, r.live, r.incoming, w.LiveEntries); err != nil {
		return c, err
	}
	var note string
	if c.patterns, note = h.patterns(r); note != "" {
		out.notes = append(out.notes, note)
	}
	controlled, err := h.Managers.Controlled(w.LiveEntries, c.patterns)
	if err != nil {
		return c, err
	}
	letGo, err := h.Managers.LetGo(w.LiveEntries, c.manifests)
	if err != nil {
		return c, err
	}
	for _, path := range slices.Concat(controlled, letGo) {
		if r.live.Value(path) != nil && !slices.ContainsFunc(c.paths, path.Equals) {
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
// object's that does not parse counts for nothing and is noted.
func (h *Handler) patterns(r *review) (patterns []ownership.Pattern, note string) {
	for _, rule := range h.Rules {
		if rule.Fits(r.kind.Group, r.kind.Kind) {
			patterns = append(patterns, rule.Fields...)
		}
	}
	text, ok := r.incoming.ControllerFields()
	if !ok {
		return patterns, ""
	}
	own, err := ownership.ParseControllerFields(text)
	if err != nil {
		note = warningOf("", "annotation controller-fields: "+err.Error(), "")
	}
	return append(patterns, own...), note
}
