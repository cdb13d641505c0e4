package installation

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// FieldManager is the field manager of dry runs and of writes of namespaces. Like kubectl's own, it counts as imperative.
const FieldManager = "kubectl-handoff"

//go:embed probe.yaml
var probe []byte

var errNoProbe = errors.New("the webhook configuration covers none of the kinds of a dry run: Deployment, StatefulSet, ReplicaSet")

// Reply is the webhook's answer to a dry run.
type Reply struct {
	Answered bool
	// Version is the webhook's version, Configuration the hash of its configuration, and Mode that of the namespace, each empty if
	// the webhook has not reviewed the dry run.
	Version, Configuration string
	Mode                   optin.Mode
	// Warnings are all warnings of the webhook.
	Warnings []string
}

// Ask creates an object as a dry run, which takes the way of a real write: through the API server, the webhook configuration, the
// network, TLS and a pod. Nothing is stored. With the mode label, the webhook answers with its version. Without, the object has
// the annotation, which has no effect, about which the webhook warns where it reviews objects without a label.
func (in *Installation) Ask(ctx context.Context, namespace string, labeled bool) (Reply, error) {
	question := request{namespace: namespace, selector: strconv.FormatBool(labeled)}
	reply, err := once(in, question, func() (Reply, error) { return in.ask(ctx, namespace, labeled) })
	in.answered = in.answered || reply.Answered
	return reply, err
}

// ask makes a dry run of each kind that the entries select until one is answered or allowed: permissions or a policy can rule out one
// of them. The error is that of the first.
func (in *Installation) ask(ctx context.Context, namespace string, labeled bool) (reply Reply, err error) {
	ctx = source.WithWarnings(ctx, reply.hear)
	into, unread := in.Namespace(ctx, namespace)
	for _, kind := range []string{"Deployment", "StatefulSet", "ReplicaSet"} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(probe, &o.Object); err != nil {
			return reply, err
		}
		o.SetKind(kind)
		o.SetName("handoff-doctor-" + rand.String(8))
		if labeled {
			o.SetLabels(labels.Merge(o.GetLabels(), labels.Set{optin.Label: protocol.ProbeMode}))
		}
		resource := appsv1.SchemeGroupVersion.WithResource(strings.ToLower(kind) + "s")
		is := Object{Resource: resource.GroupResource(), Namespace: namespace, Labels: o.GetLabels()}
		if in.Unread == nil && unread == nil && in.selected(Answer{}, is, into).Reason != "" {
			continue
		}
		options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: FieldManager}
		_, failed := in.objects.Resource(resource).Namespace(namespace).Create(ctx, o, options)
		var status apierrors.APIStatus
		switch {
		case failed == nil || reply.Answered: // another webhook or a policy can refuse the object afterwards
			return reply, nil
		case !errors.As(failed, &status) || status.Status().Code >= http.StatusInternalServerError:
			return reply, failed
		default:
			err = cmp.Or(err, failed)
		}
	}
	return reply, cmp.Or(err, errNoProbe)
}

// Refused reports whether the API server refused a write because a call of handoff failed.
func Refused(err error) bool {
	return err != nil && strings.Contains(err.Error(), "failed calling webhook") && strings.Contains(err.Error(), entrySuffix)
}

// answer matches the answer to a dry run. Later versions can state more.
var answer = regexp.MustCompile(`^` + protocol.WarningPrefix + protocol.Answered + `([^,]*), configuration ([^,]*), mode ([^,]*)`)

// hear reads a warning.
func (r *Reply) hear(text string) bool {
	if !strings.HasPrefix(text, protocol.WarningPrefix) {
		return true
	}
	r.Answered, r.Warnings = true, append(r.Warnings, text)
	if stated := answer.FindStringSubmatch(text); stated != nil {
		r.Version, r.Configuration, r.Mode = stated[1], stated[2], optin.Mode(stated[3])
	}
	return true
}
