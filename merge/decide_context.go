package merge

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// managersFor returns the field managers for the kind of a write's object.
func (d Decider) managersFor(r Request) ownership.Managers {
	return d.Managers.For(r.Kind.GroupKind(), d.Rules, func(apiVersion string) fieldpath.Path {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return nil
		}
		return d.Cluster.ScalePath(gv.Group, gv.Version, r.Kind.Kind)
	})
}

// scalerOf looks up the scaler of a write's object, and completes the context with it.
func (d Decider) scalerOf(r Request, context *ownership.ObjectContext, live []ownership.Entry) (scaler ownership.Scaler) {
	if context.Scale == nil || r.Live.Value(context.Scale) == nil {
		return scaler
	}
	scaler = d.Cluster.Scaler(r.Namespace, r.Kind.Group, r.Kind.Kind, r.Name)
	context.Autoscaler = scaler.Owner(context.Scale, r.Live, live, context.Managers)
	context.Managers.Readable = scaler.Readable
	if scaler.Name == "" {
		context.Autoscaler = nodeGroupScaler(r)
	}
	return scaler
}

// nodeGroupScaler returns the scaler of a node group. The incoming object decides as well: a manifest that removes the
// annotations takes the scale field back, and one that adds them can still set it.
func nodeGroupScaler(r Request) string {
	kind := r.Kind.GroupKind()
	if ownership.NodeGroupScaler(kind, r.Incoming) == "" {
		return ""
	}
	return ownership.NodeGroupScaler(kind, r.Live)
}
