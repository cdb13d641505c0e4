package installation

import (
	"context"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/ownership"
)

const (
	// probeMode is the mode label that the webhook answers in a dry run.
	probeMode = protocol.ProbeMode
	// warningPrefix begins all warnings of the webhook, answerPrefix its answer to probeMode.
	warningPrefix = protocol.WarningPrefix
	answerPrefix  = warningPrefix + protocol.Answered
	// FieldManager is the field manager of dry runs. Like kubectl's own, it counts as imperative.
	FieldManager = "kubectl-handoff"
)

// question is a dry run in a namespace, of an object with or without the mode label.
type question struct {
	namespace string
	labeled   bool
}

// Reply is the webhook's answer to a dry run.
type Reply struct {
	Answered bool
	// Version is the webhook's version, Configuration the hash of its configuration, and Mode that of the namespace, each empty if
	// the webhook does not state it.
	Version, Configuration string
	Mode                   ownership.Mode
	// Warnings are all warnings of the webhook.
	Warnings []string
	err      error
}

// Ask creates a Deployment as a dry run, which takes the way of a real write: through the API server, the webhook configuration,
// the network, TLS and a pod. Nothing is stored. With the mode label, the webhook answers with its version. Without, the object has
// the annotation, which has no effect, about which the webhook warns where it reviews objects without a label.
func (in *Installation) Ask(ctx context.Context, namespace string, labeled bool) (Reply, error) {
	q := question{namespace, labeled}
	reply, known := in.replies[q]
	if !known {
		reply.Warnings, reply.err = in.create(ctx, q)
		reply.read()
		if reply.Answered { // another webhook or a policy can refuse the probe afterwards
			reply.err = nil
		}
		in.replies[q] = reply
	}
	return reply, reply.err
}

// Forget forgets all answers.
func (in *Installation) Forget() { clear(in.replies) }

func (r *Reply) read() {
	for _, warning := range r.Warnings {
		r.Answered = r.Answered || strings.HasPrefix(warning, warningPrefix)
		answer, ok := strings.CutPrefix(warning, answerPrefix)
		if !ok {
			continue
		}
		for i, part := range strings.Split(answer, ", ") {
			name, value, _ := strings.Cut(part, " ")
			switch {
			case i == 0:
				r.Version = part
			case name == "configuration":
				r.Configuration = value
			case name == "mode":
				r.Mode, _ = ownership.ParseMode(value)
			}
		}
	}
}

func (in *Installation) create(ctx context.Context, q question) ([]string, error) {
	if in.config == nil {
		return nil, errInFiles
	}
	c := rest.CopyConfig(in.config)
	warnings := &warnings{}
	c.WarningHandler, c.WarningHandlerWithContext = warnings, nil
	objects, err := dynamic.NewForConfig(c)
	if err != nil {
		return nil, err
	}
	deployments := objects.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(q.namespace)
	_, err = deployments.Create(ctx, probe("handoff-doctor-"+rand.String(8), q.labeled),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: FieldManager})
	return warnings.ofHandoff(), err
}

// probe returns a Deployment without replicas that meets the Pod Security Standard restricted and the usual policies.
func probe(name string, labeled bool) *unstructured.Unstructured {
	match := map[string]any{"app.kubernetes.io/name": name}
	resources := map[string]any{"cpu": "10m", "memory": "16Mi"}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": appsv1.SchemeGroupVersion.String(), "kind": "Deployment",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"replicas": int64(0),
			"selector": map[string]any{"matchLabels": match},
			"template": map[string]any{
				"metadata": map[string]any{"labels": match},
				"spec": map[string]any{
					"automountServiceAccountToken": false,
					"securityContext": map[string]any{
						"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"},
					},
					"containers": []any{map[string]any{
						"name": "probe", "image": "registry.k8s.io/pause:3.10",
						"resources": map[string]any{"requests": resources, "limits": resources},
						"securityContext": map[string]any{
							"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
							"capabilities": map[string]any{"drop": []any{"ALL"}},
						},
					}},
				},
			},
		},
	}}
	o.SetLabels(map[string]string{"app.kubernetes.io/name": name})
	if labeled {
		o.SetLabels(map[string]string{"app.kubernetes.io/name": name, ownership.ModeLabel: probeMode})
	} else {
		o.SetAnnotations(map[string]string{ownership.ModeAnnotation: probeMode})
	}
	return o
}

// warnings collects the warnings of responses.
type warnings struct {
	mutex sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) ofHandoff() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(w.texts), func(text string) bool { return !strings.HasPrefix(text, warningPrefix) })
}
