package decision

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// contextOf returns what the cluster knows about the object of a write. What rules give to controllers is added for an
// applier only.
func (t Table) contextOf(r Request) ownership.ObjectContext {
	context := ownership.ObjectContext{
		Managers: t.Managers, Scale: t.Cluster.ScalePath(r.Kind.Group, r.Kind.Version, r.Kind.Kind),
	}
	if context.Scale == nil {
		return context
	}
	context.ScaleIn = func(apiVersion string) fieldpath.Path {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return nil
		}
		return t.Cluster.ScalePath(gv.Group, gv.Version, r.Kind.Kind)
	}
	if r.Live.Value(context.Scale) != nil {
		context.Autoscaler, _ = t.Cluster.Autoscaler(r.Namespace, r.Kind.Group, r.Kind.Kind, r.Name)
	}
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
	return slices.Concat(patterns, own), unread
}
