package installation

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/ownership"
)

// FieldManager is the field manager of dry runs. Like kubectl's own, it counts as imperative.
const FieldManager = "kubectl-handoff"

//go:embed probe.yaml
var probe []byte

// probes are the kinds of dry runs: permissions, a policy or the rules of the entries can rule out one of them.
var probes = []string{"Deployment", "StatefulSet", "ReplicaSet"}

var errNoProbe = errors.New("the webhook configuration covers none of the kinds of a dry run: Deployment, StatefulSet, ReplicaSet")

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

// Ask creates an object as a dry run, which takes the way of a real write: through the API server, the webhook configuration, the
// network, TLS and a pod. Nothing is stored. With the mode label, the webhook answers with its version. Without, the object has
// the annotation, which has no effect, about which the webhook warns where it reviews objects without a label.
func (in *Installation) Ask(ctx context.Context, namespace string, labeled bool) (Reply, error) {
	q := question{namespace, labeled}
	reply, known := in.replies[q]
	switch {
	case known:
	case in.OfFiles():
		reply.err = errInFiles
	default:
		reply = in.ask(ctx, q)
		in.replies[q] = reply
	}
	return reply, reply.err
}

// ask makes a dry run of each kind until one is answered or allowed. The error is that of the first kind for which there was one.
func (in *Installation) ask(ctx context.Context, q question) (reply Reply) {
	reply.err = errNoProbe
	for _, kind := range probes {
		o, err := in.probe(ctx, kind, q)
		if errors.Is(err, errNoProbe) {
			continue
		}
		if err == nil {
			_, err = in.Create(ctx, o, &reply)
		}
		if err == nil || reply.Answered { // another webhook or a policy can refuse the probe afterwards
			reply.err = nil
			return reply
		}
		if errors.Is(reply.err, errNoProbe) {
			reply.err = err
		}
		var status apierrors.APIStatus
		if Refused(err) || !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError {
			break
		}
	}
	return reply
}

// Refused reports whether the API server refused a write because a call of handoff failed.
func Refused(err error) bool {
	return err != nil && strings.Contains(err.Error(), "failed calling webhook") && strings.Contains(err.Error(), entrySuffix)
}

// Forget forgets all answers.
func (in *Installation) Forget() { clear(in.replies) }

// probe returns the object of a dry run. The error is errNoProbe if the API server does not call handoff for it.
func (in *Installation) probe(ctx context.Context, kind string, q question) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(probe, &o.Object); err != nil {
		return nil, err
	}
	o.SetKind(kind)
	o.SetNamespace(q.namespace)
	if labels := o.GetLabels(); q.labeled {
		labels[ownership.ModeLabel] = protocol.ProbeMode
		o.SetLabels(labels)
	} else {
		o.SetAnnotations(map[string]string{ownership.ModeAnnotation: protocol.ProbeMode})
	}
	if namespace, err := in.Namespace(ctx, q.namespace); err == nil && in.Unread == nil {
		object := Object{Resource: resourceOf(o).GroupResource(), Namespace: q.namespace, Labels: o.GetLabels()}
		if in.selected(Answer{}, object, namespace).Reason != "" {
			return nil, errNoProbe
		}
	}
	return o, nil
}

func resourceOf(o *unstructured.Unstructured) schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	return resource
}

// Create creates an object with a generated name as a dry run. The reply handles the warnings of the response.
func (in *Installation) Create(ctx context.Context, o *unstructured.Unstructured, reply *Reply) (*unstructured.Unstructured, error) {
	objects, err := in.answering(reply)
	if err != nil {
		return nil, err
	}
	o.SetName("handoff-doctor-" + rand.String(8))
	return objects.Resource(resourceOf(o)).Namespace(o.GetNamespace()).Create(ctx, o,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: FieldManager})
}

// answering returns a client whose warnings a reply handles.
func (in *Installation) answering(reply *Reply) (dynamic.Interface, error) {
	c := rest.CopyConfig(in.config)
	c.WarningHandler, c.WarningHandlerWithContext = reply, nil
	return dynamic.NewForConfig(c)
}

// AskOutside labels an object outside namespaces as a dry run: a ClusterRole that every cluster has, and whose rules all users have.
func (in *Installation) AskOutside(ctx context.Context) (reply Reply, err error) {
	objects, err := in.answering(&reply)
	if err == nil {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, ownership.ModeLabel, protocol.ProbeMode)
		_, err = objects.Resource(rbacv1.SchemeGroupVersion.WithResource("clusterroles")).Patch(ctx, "system:public-info-viewer",
			types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: FieldManager})
	}
	return reply, err
}

// answer matches the answer to a dry run. Earlier versions do not state the configuration and the mode, and later ones can state more.
var answer = regexp.MustCompile(`^` + protocol.WarningPrefix + protocol.Answered + `([^,]*)(?:, configuration ([^,]*))?(?:, mode ([^,]*))?`)

// HandleWarningHeader implements rest.WarningHandler.
func (r *Reply) HandleWarningHeader(_ int, _, text string) {
	if !strings.HasPrefix(text, protocol.WarningPrefix) {
		return
	}
	r.Answered, r.Warnings = true, append(r.Warnings, text)
	if stated := answer.FindStringSubmatch(text); stated != nil {
		r.Version, r.Configuration, r.Mode = stated[1], stated[2], ownership.Mode(stated[3])
	}
}
