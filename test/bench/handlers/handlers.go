// Package handlers has the two sides of a comparison over recorded reviews: the whole handler of this repository, and
// the least that a webhook built with controller-runtime does.
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

	"github.com/ownership-handoff/handoff/webhook/cluster"
	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/webhook"
)

// Review reads a recorded review by its name, which is that of its namespace as well.
func Review(name string) ([]byte, error) {
	root, err := controlplane.Root()
	if err != nil {
		return nil, err
	}
	body, err := os.ReadFile(filepath.Join(root, "webhook", "testdata", "reviews", name+".json"))
	if err != nil {
		return nil, fmt.Errorf("read a recorded review: %w", err)
	}
	return body, nil
}

// Options say what handoff knows and is told.
type Options struct {
	// Mode is the mode annotation of the namespace; empty stands for none.
	Mode string
	// Namespace has a HorizontalPodAutoscaler/web that targets the Deployment web.
	Namespace string
	// Rules are the controller rules of the configuration.
	Rules []config.ControllerRule
}

// TenRules are controller rules as a cluster with vertical autoscaling, a mesh and a node pool manager might have them.
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

// Handoff returns the handler as cmd/handoff-webhook wires it, until the context ends. Its log lines are all encoded and
// then dropped, and its Events are dropped where they would be sent.
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
	facts, err := factsOf(ctx, namespace(o.Namespace, annotations),
		autoscaler(o.Namespace, "web", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}))
	if err != nil {
		return nil, err
	}
	metrics, err := webhook.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	recorder, err := eventRecorder(ctx)
	if err != nil {
		return nil, err
	}
	return &webhook.Handler{
		Cluster: facts, Managers: configuration.Managers(), Rules: rules, Metrics: metrics, Log: logger(), Events: recorder,
	}, nil
}

// ControllerRuntime returns a webhook of controller-runtime whose handler says nothing but "allowed".
func ControllerRuntime() (http.Handler, error) {
	allow := func(context.Context, admission.Request) admission.Response { return admission.Allowed("") }
	hook := &admission.Webhook{Handler: admission.HandlerFunc(allow)}
	handler, err := admission.StandaloneWebhook(hook, admission.StandaloneOptions{Logger: logger()})
	if err != nil {
		return nil, fmt.Errorf("webhook of controller-runtime: %w", err)
	}
	return handler, nil
}

// logger is the production logger but for its sampling, which would hide what a line costs from a benchmark: it is off
// from this level on, at which neither side says more.
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
		return nil, fmt.Errorf("record events: %w", err)
	}
	return broadcaster.NewRecorder(scheme, "handoff-webhook"), nil
}

// noSink takes every Event and keeps none.
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
