package installation

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/ownership"
)

// FieldManager is the field manager of dry runs. Like kubectl's own, it counts as imperative.
const FieldManager = "kubectl-handoff"

var errInFiles = errors.New("the objects are in files")

//go:embed probe.yaml
var probe []byte

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
		reply.err = in.create(ctx, q, &reply)
		if reply.Answered { // another webhook or a policy can refuse the probe afterwards
			reply.err = nil
		}
		in.replies[q] = reply
	}
	return reply, reply.err
}

// Refused reports whether the API server refused a write because a call of handoff failed.
func Refused(err error) bool {
	return err != nil && strings.Contains(err.Error(), "failed calling webhook") && strings.Contains(err.Error(), entrySuffix)
}

// Forget forgets all answers.
func (in *Installation) Forget() { clear(in.replies) }

// create creates the probe as a dry run. The reply handles the warnings of the response.
func (in *Installation) create(ctx context.Context, q question, reply *Reply) error {
	if in.config == nil {
		return errInFiles
	}
	c := rest.CopyConfig(in.config)
	c.WarningHandler, c.WarningHandlerWithContext = reply, nil
	objects, err := dynamic.NewForConfig(c)
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(probe, &o.Object); err != nil {
		return err
	}
	o.SetName("handoff-doctor-" + rand.String(8))
	if labels := o.GetLabels(); q.labeled {
		labels[ownership.ModeLabel] = protocol.ProbeMode
		o.SetLabels(labels)
	} else {
		o.SetAnnotations(map[string]string{ownership.ModeAnnotation: protocol.ProbeMode})
	}
	_, err = objects.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(q.namespace).Create(ctx, o,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: FieldManager})
	return err
}

// HandleWarningHeader implements rest.WarningHandler.
func (r *Reply) HandleWarningHeader(_ int, _, text string) {
	if !strings.HasPrefix(text, protocol.WarningPrefix) {
		return
	}
	r.Answered, r.Warnings = true, append(r.Warnings, text)
	answer, ok := strings.CutPrefix(text, protocol.WarningPrefix+protocol.Answered)
	if !ok {
		return
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
