package merge

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// contextOf returns the scale field of a write's object.
func (d Decider) contextOf(r Request) ownership.ObjectContext {
	context := ownership.ObjectContext{
		Managers: d.Managers, Scale: d.Cluster.ScalePath(r.Kind.Group, r.Kind.Version, r.Kind.Kind),
	}
	if context.Scale == nil {
		return context
	}
	context.ScaleIn = func(apiVersion string) fieldpath.Path {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return nil
		}
		return d.Cluster.ScalePath(gv.Group, gv.Version, r.Kind.Kind)
	}
	return context
}

// autoscaler returns the autoscaler that targets a write's object, empty if none does.
func (d Decider) autoscaler(r Request, scale fieldpath.Path) string {
	if r.Live.Value(scale) == nil {
		return ""
	}
	autoscaler, _ := d.Cluster.Autoscaler(r.Namespace, r.Kind.Group, r.Kind.Kind, r.Name)
	return autoscaler
}

// patterns returns the fields that the configuration and the object's annotation assign to controllers. The error is about
// the annotation's paths that do not parse, which are ignored.
func (d Decider) patterns(r Request) (patterns []ownership.Pattern, unread error) {
	for _, rule := range d.Rules {
		if rule.Matches(r.Kind.Group, r.Kind.Kind) {
			patterns = append(patterns, rule.Fields...)
		}
	}
	text, ok := r.Incoming.ControllerFields()
	if !ok {
		return patterns, nil
	}
	own, unread := ownership.ParseControllerFields(text)
	return slices.Concat(patterns, own), unread
}
