// Package handlers compares two handlers on recorded reviews: the complete handler of this repository, and a webhook built
// with controller-runtime that allows every request.
package handlers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zapcore"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/webhook"
	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// Review returns a recorded review by its name, which is also the name of its namespace.
func Review(name string) ([]byte, error) {
	root, err := controlplane.Root()
	if err != nil {
		return nil, err
	}
	body, err := os.ReadFile(filepath.Join(root, "webhook", "testdata", "reviews", name+".json"))
	if err != nil {
		return nil, fmt.Errorf("reading a recorded review: %w", err)
	}
	return body, nil
}

// Options are handoff's configuration and the objects of its cluster.
type Options struct {
	// Mode is the mode annotation of the namespace; empty means no annotation.
	Mode string
	// Namespace is the namespace of a HorizontalPodAutoscaler/web that targets the Deployment web.
	Namespace string
	// Rules are the controller rules of the configuration.
	Rules []config.ControllerRule
}

// TenRules returns controller rules like those of a cluster with vertical autoscaling, a service mesh and a node pool manager.
func TenRules() []config.ControllerRule {
	const apps, deployment, anything = "apps", "Deployment", "*"
	return []config.ControllerRule{
		{Group: apps, Kind: deployment, Fields: []string{`.spec.template.spec.containers[*].resources`}},
		{Group: apps, Kind: deployment, Fields: []string{`.spec.template.spec.containers[name="proxy"].image`}},
		{Group: apps, Kind: deployment, Fields: []string{".spec.paused", ".spec.progressDeadlineSeconds"}},
		{Group: apps, Kind: deployment, Fields: []string{".spec.template.metadata.annotations"}},
		{Group: apps, Kind: anything, Fields: []string{".spec.template.spec.tolerations", ".spec.template.spec.nodeSelector"}},
		{Group: anything, Kind: anything, Fields: []string{`.metadata.labels["example.com/cost-center"]`}},
		{Group: apps, Kind: "StatefulSet", Fields: []string{`.spec.template.spec.containers[*].resources`}},
		{Group: "argoproj.io", Kind: "Rollout", Fields: []string{`.spec.template.spec.containers[*].image`}},
		{Group: "core", Kind: "Service", Fields: []string{".spec.selector"}},
		{Group: "batch", Kind: "CronJob", Fields: []string{".spec.suspend"}},
	}
}

// Handoff returns the handler as cmd/handoff-webhook sets it up, which runs until the context ends. It encodes its log lines
// and then discards them. Its Events are discarded instead of sent.
func Handoff(ctx context.Context, o Options) (http.Handler, error) {
	configuration := config.Default()
	configuration.Controllers = o.Rules
	rules, err := configuration.Rules()
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{}
	if o.Mode != "" {
		annotations[ownership.ModeAnnotation] = o.Mode
	}
	state, err := stateOf(ctx, namespace(o.Namespace, annotations),
		autoscaler(o.Namespace, "web", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}))
	if err != nil {
		return nil, err
	}
	metrics, err := webhook.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	recorder, err := eventRecorder(ctx)
	if err != nil {
		return nil, err
	}
	return &webhook.Handler{
		Cluster: state, Managers: configuration.Managers(), Rules: rules, Metrics: metrics, Log: logger(), Events: recorder,
	}, nil
}

// ControllerRuntime returns a controller-runtime webhook whose handler allows every request.
func ControllerRuntime() (http.Handler, error) {
	allow := func(context.Context, admission.Request) admission.Response { return admission.Allowed("") }
	hook := &admission.Webhook{Handler: admission.HandlerFunc(allow)}
	handler, err := admission.StandaloneWebhook(hook, admission.StandaloneOptions{Logger: logger()})
	if err != nil {
		return nil, fmt.Errorf("creating the controller-runtime webhook: %w", err)
	}
	return handler, nil
}

// logger returns the production logger without sampling, which would hide the cost of a log line from the benchmark. The log
// level turns sampling off; neither handler logs more at this level.
func logger() logr.Logger {
	return zap.New(zap.WriteTo(io.Discard), zap.Level(zapcore.Level(-2)))
}

func eventRecorder(ctx context.Context) (webhook.EventRecorder, error) {
	scheme, err := cluster.Scheme()
	if err != nil {
		return nil, err
	}
	broadcaster := events.NewBroadcaster(noSink{})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, fmt.Errorf("recording Events: %w", err)
	}
	return broadcaster.NewRecorder(scheme, "handoff-webhook"), nil
}

// noSink discards every Event.
type noSink struct{}

func (noSink) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return event, nil
}
func (noSink) Update(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return event, nil
}
func (noSink) Patch(_ context.Context, event *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	return event, nil
}
