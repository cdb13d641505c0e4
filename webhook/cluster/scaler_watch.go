package cluster

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// settleTimeout is how long a kind of scaler that cannot be listed delays readiness.
const settleTimeout = 10 * time.Second

// scalerWatch watches the objects of a kind of scaler.
type scalerWatch struct {
	kind     scale.Kind
	resource schema.GroupVersionResource
	informer *renewingInformer
	started  time.Time
	cancel   context.CancelFunc
	// reported is the problem that was last logged; only the reports use it.
	reported string
}

func newScalerWatch(kind scale.Kind, resource schema.GroupVersionResource, client dynamic.Interface) *scalerWatch {
	objects := client.Resource(resource)
	w := &scalerWatch{kind: kind, resource: resource, started: time.Now(), informer: newInformer(&toolscache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return objects.List(ctx, o) },
		WatchFuncWithContext: objects.Watch,
	}, &unstructured.Unstructured{}, 0, toolscache.Indexers{byTarget: targetOfScaler})}
	// These only fail for an informer that has been started. The reports log errors.
	_ = w.informer.SetTransform(reducedBy(w.reduce))
	_ = w.informer.SetWatchErrorHandlerWithContext(func(context.Context, *toolscache.Reflector, error) {})
	return w
}

// name returns the name of the resource.
func (w *scalerWatch) name() string { return w.resource.GroupResource().String() }

// reduce reduces an object to its reference.
func (w *scalerWatch) reduce(o *unstructured.Unstructured) *scaler {
	out := &scaler{TypeMeta: metav1.TypeMeta{APIVersion: o.GetAPIVersion(), Kind: w.kind.GroupKind.Kind}}
	out.Name, out.Namespace, out.UID, out.ResourceVersion = o.GetName(), o.GetNamespace(), o.GetUID(), o.GetResourceVersion()
	var err error
	if out.reference, out.targets, err = w.kind.ReferenceOf(o.Object, out.Name, 0); err != nil {
		out.problem = err.Error()
	}
	return out
}

// readable reports whether the objects are known and up to date.
func (w *scalerWatch) readable() bool {
	last, _ := w.informer.freshness.read()
	return w.informer.HasSynced() && time.Since(last) <= maxAge
}

// settled reports whether the objects are listed, or cannot be listed for now.
func (w *scalerWatch) settled() bool {
	_, err := w.informer.freshness.read()
	return w.informer.HasSynced() || apierrors.IsForbidden(err) || err != nil && time.Since(w.started) > settleTimeout
}

// problem returns why the objects cannot be read, empty if they can.
func (w *scalerWatch) problem() string {
	if _, err := w.informer.freshness.read(); err != nil && !w.readable() {
		return err.Error()
	}
	return ""
}
