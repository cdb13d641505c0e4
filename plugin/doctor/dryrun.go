package doctor

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// What the webhook's warnings begin with.
const (
	skippedPrefix = protocol.WarningPrefix + protocol.Skipped
	stalePrefix   = protocol.WarningPrefix + protocol.Stale
)

// target is a namespace in which an entry reviews writes.
type target struct {
	entry     string
	namespace string
}

// checkDryRun creates an object as a dry run in a namespace of each entry, which the webhook answers.
func (d *diagnosis) checkDryRun(ctx context.Context, c *Check) {
	if d.in.Unread == nil && d.configuration() == nil {
		c.skip("no configuration")
		return
	}
	targets := d.targets()
	if len(targets) == 0 {
		d.reportUnreviewed(c)
		return
	}
	for _, target := range targets {
		if detail := d.probe(ctx, c, target); c.Detail == "" {
			c.Detail = detail
		}
	}
	d.probeNamespaces(ctx, c)
}

// reportUnreviewed reports that no entry selects a namespace.
func (d *diagnosis) reportUnreviewed(c *Check) {
	if d.options.Namespace == "" || len(d.namespaces) == 0 {
		c.found(d.object(), "its namespaceSelectors select no namespace: handoff reviews nothing", d.reinstall()...)
		return
	}
	reason := ""
	for _, entry := range d.in.Entries() {
		if unmet := installation.Unmet(entry, &d.namespaces[0]); installation.ReviewsObjects(entry) && reason == "" {
			reason = unmet
		}
	}
	c.found(named("namespace", d.options.Namespace, ""), "is excluded by the namespaceSelectors ("+reason+
		"): handoff reviews nothing there", "check another namespace: kubectl handoff doctor -n NAMESPACE",
		"or remove the requirement from the namespaceSelector, and apply the configuration again")
}

// targets returns a namespace for each entry, preferably one that has opted in. If the entries or the namespaces are unknown, it is
// that of the options.
func (d *diagnosis) targets() (targets []target) {
	if d.namespaces == nil || d.in.Unread != nil {
		if d.options.Namespace != "" {
			return []target{{"handoff", d.options.Namespace}}
		}
		return []target{{"handoff", d.options.Current}}
	}
	for _, entry := range d.in.Entries() {
		best, score := "", -1
		for i := range d.namespaces {
			namespace := &d.namespaces[i]
			usable := installation.ReviewsObjects(entry) && installation.Unmet(entry, namespace) == "" && namespace.DeletionTimestamp == nil
			if s := preference(namespace); usable && s > score {
				best, score = namespace.Name, s
			}
		}
		if best != "" {
			targets = append(targets, target{entry.Name, best})
		}
	}
	return targets
}

// preference returns how well a namespace fits for a dry run: where handoff acts, and else where users can create objects.
func preference(namespace *corev1.Namespace) int {
	mode, _ := modeOf(namespace)
	switch {
	case mode == ownership.ModeEnforce:
		return 3
	case mode == ownership.ModeWarn:
		return 2
	case namespace.Name == metav1.NamespaceDefault:
		return 1
	default:
		return 0
	}
}

// probe makes a dry run and reports its answer. It returns what to show of an answer.
func (d *diagnosis) probe(ctx context.Context, c *Check, to target) string {
	reply, err := d.in.Ask(ctx, to.namespace, true)
	if !reply.Answered {
		d.reportUnanswered(c, to, err)
		return ""
	}
	d.answered = true
	for _, warning := range reply.Warnings {
		switch {
		case strings.HasPrefix(warning, skippedPrefix):
			c.found(d.workload(), "a pod answered, but did not review the dry run: "+warning,
				d.logs(), "docs/operations.md, skipped reviews")
			return ""
		case strings.HasPrefix(warning, stalePrefix):
			c.found(d.workload(), "a pod answered that cannot reach the API server: "+warning, d.logs(), "docs/operations.md, a stale pod")
		}
	}
	if d.version = reply.Version; d.version == "" { // of a version that does not know the question
		return "answered in namespace " + to.namespace
	}
	return fmt.Sprintf("%s answered in namespace %s", reply.Version, to.namespace)
}

// reportUnanswered reports a dry run without an answer, with the API server's error if there is one.
func (d *diagnosis) reportUnanswered(c *Check, to target, err error) {
	switch {
	case err == nil:
		d.silent = true
		object, remedy := d.object(), "fix the other problems first; if there are none, search the log of the API server for: "+
			"failing open "+installation.MainEntry
		if d.in.Unread != nil {
			object = named("namespace", to.namespace, "")
			remedy = "ask a cluster administrator to run: kubectl handoff doctor -n " + to.namespace
		}
		c.found(object, "no answer from "+to.entry+" to a dry run in namespace "+to.namespace+
			": the API server did not call it, or allowed the write because the call failed", remedy)
	case strings.Contains(err.Error(), "failed calling webhook") && strings.Contains(err.Error(), ".ownership-handoff.io"):
		d.silent = true
		remedies := networkRemedies(err.Error(), d)
		if configuration := d.configuration(); configuration != nil {
			remedies = append(remedies, "kubectl delete mutatingwebhookconfiguration "+configuration.Name)
		}
		c.found(d.object(), "the API server refuses writes, because failurePolicy is Fail and a call failed: "+err.Error(), remedies...)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot create resource"):
		c.gap("%s: requires permission to create deployments.apps -n %s, for a dry run; or choose a namespace with -n",
			c.Name, to.namespace)
	default:
		c.unread("make a dry run in namespace "+to.namespace+"; choose another one with -n", err)
	}
}

// probeNamespaces creates a namespace in mode enforce as a dry run, which the webhook labels.
func (d *diagnosis) probeNamespaces(ctx context.Context, c *Check) {
	if at(d.in.Entries(), installation.NamespacesEntry) == nil || d.options.Namespace != "" {
		return
	}
	created, err := d.objects.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Create(ctx, &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
				"name":        "handoff-doctor-" + rand.String(8),
				"annotations": map[string]any{ownership.ModeAnnotation: string(ownership.ModeEnforce)},
			},
		},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: installation.FieldManager})
	switch {
	case err != nil:
		c.unread("create namespaces, for a dry run", err)
	case created.GetLabels()[ownership.ModeLabel] != string(ownership.ModeEnforce):
		c.found(d.object(), "no answer from "+installation.NamespacesEntry+
			" to a dry run: a namespace that opts in is not labeled until a pod repairs it", "fix the other problems first", d.logs())
	}
}
