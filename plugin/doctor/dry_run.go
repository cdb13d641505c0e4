package doctor

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

const removeRequirement = "or remove the requirement from the namespaceSelector, and apply the configuration again"

// checkDryRun creates an object as a dry run, which the webhook answers.
func (d *diagnosis) checkDryRun(ctx context.Context) {
	if d.in.Missing() {
		d.check.skip("no configuration")
		return
	}
	namespace, excluded := d.probed(ctx)
	if namespace == "" {
		d.check.found(d.object(), "handoff reviews none of the checked namespaces: "+excluded.Why,
			"check another namespace: kubectl handoff doctor -n NAMESPACE", removeRequirement)
		return
	}
	reply, err := d.in.Ask(ctx, namespace, true)
	switch {
	case reply.Answered:
		d.checkReply(reply, namespace)
	case installation.Refused(err):
		d.check.found(d.object(), "the API server refuses writes, because failurePolicy is Fail and a call failed: "+err.Error(),
			append(d.connect(err.Error()), "kubectl delete mutatingwebhookconfiguration "+d.configuration.Name)...)
	case err != nil:
		d.check.gap("no dry run is possible in namespace %s; choose another one with -n: %v", namespace, err)
	default:
		d.check.found("namespace/"+namespace, "no answer from handoff to a dry run: the API server did not call it, or allowed the write "+
			"because the call failed", "fix the other problems first, or ask a cluster administrator to run: kubectl handoff doctor -n "+namespace,
			"if there are no others, search the log of the API server for: failing open "+installation.MainEntry)
	}
}

// probed returns the namespace of the dry run: one where handoff acts, if there is one, or else default, or any that the API server calls
// handoff for. If there is none, it returns why.
func (d *diagnosis) probed(ctx context.Context) (name string, excluded installation.Answer) {
	if d.namespaces == nil || d.in.Unread != nil { // which entries review which namespaces is unknown
		current, _, _ := d.options.Cluster.ToRawKubeConfigLoader().Namespace() // the client has been configured by it
		return current, excluded
	}
	for i := range d.namespaces {
		is := installation.Object{Namespace: d.namespaces[i].Name}
		labeled := installation.Object{Namespace: is.Namespace, Labels: map[string]string{optin.Label: protocol.ProbeMode}}
		switch answer := d.in.Mode(ctx, labeled); {
		case !answer.On():
			excluded = answer
		case d.in.Mode(ctx, is).On():
			return is.Namespace, answer
		case name == "" || is.Namespace == metav1.NamespaceDefault:
			name = is.Namespace
		}
	}
	return name, excluded
}

func (d *diagnosis) checkReply(reply installation.Reply, namespace string) {
	d.answered, d.version = true, reply.Version
	d.check.Detail = strings.TrimSpace(reply.Version + " answered in namespace " + namespace)
	for _, warning := range reply.Warnings {
		text := strings.TrimPrefix(warning, protocol.WarningPrefix)
		if strings.HasPrefix(text, protocol.Skipped) || strings.HasPrefix(text, protocol.Stale) {
			d.check.found(d.object(), "a pod answered that is overloaded or cannot reach the API server: "+warning,
				d.logs(), "docs/operations.md, skipped reviews", "docs/operations.md, a stale pod")
		}
	}
}
