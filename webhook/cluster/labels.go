package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/ratelimit"
)

const (
	// FieldManager is the field manager of what the webhook itself writes.
	FieldManager = "handoff-webhook"
	// firstRepair is the pause before a label is repaired, maxRepair the longest between two attempts for a namespace that have no
	// effect. Each namespace has its own pauses: a policy that refuses the update of one says nothing about the others.
	firstRepair = time.Second
	maxRepair   = 2 * time.Minute
	// repairsPerSecond and repairBurst limit the requests of a pod, in case many namespaces were annotated while none answered.
	repairsPerSecond = 20
	repairBurst      = 50
	repairTimeout    = 10 * time.Second
	// repairWorkers is the number of namespaces repaired at a time: a policy can take long to answer for one of them.
	repairWorkers = 4
	// promptAgain is how long a label must follow the annotation until the next repair is prompt again: another client may keep
	// changing the label.
	promptAgain = 10 * time.Minute
	// sayRepairs is the minimum interval between two log lines about repairs that had no effect.
	sayRepairs = time.Minute
)

var errNotCalled = errors.New("the API server did not call handoff for the namespace")

// Labels repairs the labels of namespaces (optin.Label) that do not follow their annotation, for example because no pod
// answered when the annotation was written.
//
// It does not write the label. It sends a patch without any change, for which the API server calls the webhook, whose response
// corrects the label. The correction is therefore the same as for any other write, has no managedFields entry that could conflict
// with an apply, and only reaches namespaces that the API server sends to the webhook at all. Every pod may do this: the second
// patch has nothing to correct, or conflicts.
type Labels struct {
	state  *State
	client metadata.Interface
	log    logr.Logger
	queue  workqueue.TypedRateLimitingInterface[string]
	quiet  ratelimit.Log

	repairs *prometheus.CounterVec
}

// RepairLabels returns Labels for the namespaces of the state. Run repairs them.
func (f *State) RepairLabels(c *rest.Config, h *http.Client, log logr.Logger) (*Labels, error) {
	limited := rest.CopyConfig(c)
	limited.QPS, limited.Burst, limited.RateLimiter = repairsPerSecond, repairBurst, nil
	namespaces, err := metadata.NewForConfigAndClient(limited, h)
	if err != nil {
		return nil, fmt.Errorf("creating the client for the labels of namespaces: %w", err)
	}
	return &Labels{
		state: f, client: namespaces, log: log,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRepair, maxRepair)),
		repairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "handoff_namespace_label_repairs_total",
			Help: "Attempts to make the label of a namespace follow its mode annotation, by result: repaired, conflict, not_called (the " +
				"API server did not call handoff for the namespace), forbidden or failed.",
		}, []string{"result"}),
	}, nil
}

// Metrics returns the metrics of the repairs.
func (l *Labels) Metrics() []prometheus.Collector {
	stale := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "handoff_stale_namespace_labels",
		Help: "Namespaces whose label does not follow their mode annotation.",
	}, func() float64 {
		all := l.state.informers[namespaceResource].GetIndexer().List()
		return float64(len(slices.DeleteFunc(all, func(o any) bool { return !isWrong(o) })))
	})
	return []prometheus.Collector{l.repairs, stale}
}

// Run repairs labels until the context is done.
func (l *Labels) Run(ctx context.Context) error {
	informer := l.state.informers[namespaceResource]
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { l.changed(nil, now) },
		UpdateFunc: l.changed,
	})
	if err != nil {
		return fmt.Errorf("watching namespaces: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(registration) }()
	defer context.AfterFunc(ctx, l.queue.ShutDown)()
	var workers sync.WaitGroup
	for range repairWorkers {
		workers.Go(func() {
			for name, stopped := l.queue.Get(); !stopped; name, stopped = l.queue.Get() {
				l.process(ctx, name)
				l.queue.Done(name)
			}
		})
	}
	workers.Wait()
	return nil
}

// changed queues a namespace whose label no longer follows its annotation. One that was wrong before is in the queue already.
func (l *Labels) changed(was, now any) {
	if namespace, ok := now.(*metav1.PartialObjectMetadata); ok && isWrong(now) && !isWrong(was) {
		l.queue.AddRateLimited(namespace.Name)
	}
}

// isWrong reports whether an object is a namespace whose label does not follow its annotation, which may have been cut.
func isWrong(o any) bool {
	namespace, ok := o.(*metav1.PartialObjectMetadata)
	return ok && !optin.Follows(namespace.Annotations, namespace.Labels)
}

// process repairs the label of a namespace if it is still wrong, and repeats that later if it had no effect.
func (l *Labels) process(ctx context.Context, name string) {
	namespace := l.state.namespace(name)
	if namespace == nil || !isWrong(namespace) {
		l.queue.Forget(name)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, repairTimeout)
	defer cancel()
	err := l.repair(ctx, namespace)
	result := resultOf(err)
	l.repairs.WithLabelValues(result).Inc()
	if err == nil {
		l.log.Info("made the label of a namespace follow its mode annotation", "namespace", name)
		l.queue.AddAfter(name, promptAgain)
		return
	}
	if result != conflict { // for which the watch delivers the newer version
		l.quiet.Do(sayRepairs, func(times int) {
			l.log.Error(err, "the label of a namespace does not follow its mode annotation, so the API server does not send its writes",
				"namespace", name, "timesSinceLastLog", times)
		})
	}
	l.queue.AddRateLimited(name)
}

const conflict = "conflict"

// resultOf returns the result of a repair, as in the metric.
func resultOf(err error) string {
	switch {
	case err == nil:
		return "repaired"
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return conflict
	case errors.Is(err, errNotCalled):
		return "not_called"
	case apierrors.IsForbidden(err):
		return "forbidden"
	default:
		return "failed"
	}
}

// repair sends a patch without a change. It conflicts if the namespace has changed since it was cached.
func (l *Labels) repair(ctx context.Context, namespace *metav1.PartialObjectMetadata) error {
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q}}`, namespace.ResourceVersion)
	stored, err := l.client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).
		Patch(ctx, namespace.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
	if err != nil {
		return err
	}
	if isWrong(stored) {
		return errNotCalled
	}
	return nil
}
