package doctor

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

const removeRequirement = "or remove the requirement from the namespaceSelector, and apply the configuration again"

// checkDryRun creates an object as a dry run, which the webhook answers: in a namespace where handoff acts, if there is one, and else
// where users can create objects.
func (d *diagnosis) checkDryRun(ctx context.Context) {
	if d.in.Missing() {
		d.check.skip("no configuration")
		return
	}
	if d.namespaces == nil || d.in.Unread != nil { // which entries review which namespaces is unknown
		current, _, _ := d.options.Cluster.ToRawKubeConfigLoader().Namespace() // the client has been configured by it
		d.probe(ctx, current)
		return
	}
	best, score := "", -1
	var excluded installation.Answer
	for i := range d.namespaces {
		namespace := &d.namespaces[i]
		text, annotated := namespace.Annotations[ownership.ModeAnnotation]
		mode, _ := ownership.ModeOf(text, annotated)
		fits := map[ownership.Mode]int{ownership.ModeEnforce: 3, ownership.ModeWarn: 2}[mode]
		if fits == 0 && namespace.Name == metav1.NamespaceDefault {
			fits = 1
		}
		answer := d.in.Mode(ctx, installation.Object{Namespace: namespace.Name, Labels: map[string]string{ownership.ModeLabel: protocol.ProbeMode}})
		switch {
		case !answer.On():
			excluded = answer
		case namespace.DeletionTimestamp == nil && fits > score:
			best, score = namespace.Name, fits
		}
	}
	switch {
	case best != "":
		d.probe(ctx, best)
	case d.options.Namespace == "":
		d.check.found(d.object(), "its namespaceSelectors select no namespace: handoff reviews nothing", d.reinstall())
	default:
		d.check.found("namespace/"+d.options.Namespace, "handoff reviews nothing there: "+excluded.Why,
			"check another namespace: kubectl handoff doctor -n NAMESPACE", removeRequirement)
	}
	if installation.Find(d.in.Entries(), installation.NamespacesEntry) != nil && d.options.Namespace == "" {
		d.probeNamespaces(ctx)
	}
	if installation.Find(d.in.Entries(), installation.ClusterEntry) != nil && d.options.Namespace == "" {
		d.probeOutside(ctx)
	}
}

// probe makes a dry run in a namespace, and reports its answer or, without one, the API server's error.
func (d *diagnosis) probe(ctx context.Context, namespace string) {
	reply, err := d.in.Ask(ctx, namespace, true)
	switch {
	case reply.Answered:
		d.checkReply(reply, namespace)
	case err == nil:
		d.silent = true
		object, remedy := d.object(), "fix the other problems first; if there are none, search the log of the API server for: "+
			"failing open "+installation.MainEntry
		if d.in.Unread != nil {
			object, remedy = "namespace/"+namespace, "ask a cluster administrator to run: kubectl handoff doctor -n "+namespace
		}
		d.check.found(object, "no answer from handoff to a dry run in namespace "+namespace+
			": the API server did not call it, or allowed the write because the call failed", remedy)
	case installation.Refused(err):
		d.silent = true
		d.check.found(d.object(), "the API server refuses writes, because failurePolicy is Fail and a call failed: "+err.Error(),
			append(d.networkRemedies(err.Error()), "kubectl delete mutatingwebhookconfiguration "+d.configuration().Name)...)
	case source.IsPermission(err):
		d.check.requires("create deployments.apps -n " + namespace + ", for a dry run; or choose a namespace with -n")
	case apierrors.IsForbidden(err): // by a policy or a quota
		d.check.gap("could not make a dry run in namespace %s; choose another one with -n: %v", namespace, err)
	default:
		d.unread("make a dry run in namespace "+namespace+"; choose another one with -n", err)
	}
}

func (d *diagnosis) checkReply(reply installation.Reply, namespace string) {
	d.answered = true
	for _, warning := range reply.Warnings {
		switch text := strings.TrimPrefix(warning, protocol.WarningPrefix); {
		case strings.HasPrefix(text, protocol.Skipped):
			d.check.found(d.workload(), "a pod answered, but did not review the dry run: "+warning,
				d.logs(), "docs/operations.md, skipped reviews")
			return
		case strings.HasPrefix(text, protocol.Stale):
			d.check.found(d.workload(), "a pod answered that cannot reach the API server: "+warning, d.logs(), "docs/operations.md, a stale pod")
		}
	}
	d.version = reply.Version // empty for a version that does not know the question
	d.check.Detail = strings.TrimSpace(reply.Version + " answered in namespace " + namespace)
}

// probeNamespaces creates a namespace in mode enforce as a dry run, which the webhook labels.
func (d *diagnosis) probeNamespaces(ctx context.Context) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	o.SetAnnotations(map[string]string{ownership.ModeAnnotation: string(ownership.ModeEnforce)})
	created, err := d.in.Create(ctx, o, &installation.Reply{})
	switch {
	case err != nil:
		d.unread("create namespaces, for a dry run", err)
	case created.GetLabels()[ownership.ModeLabel] != string(ownership.ModeEnforce):
		d.check.found(d.object(), "no answer from "+installation.NamespacesEntry+
			" to a dry run: a namespace that opts in is not labeled until a pod repairs it", "fix the other problems first", d.logs())
	}
}

// probeOutside labels an object outside namespaces as a dry run, which the webhook answers.
func (d *diagnosis) probeOutside(ctx context.Context) {
	switch reply, err := d.in.AskOutside(ctx); {
	case reply.Answered:
	case err != nil:
		d.unread("patch clusterroles.rbac.authorization.k8s.io, for a dry run", err)
	default:
		d.check.found(d.object(), "no answer from "+installation.ClusterEntry+
			" to a dry run: nothing is kept in objects outside namespaces", "fix the other problems first", d.logs())
	}
}
