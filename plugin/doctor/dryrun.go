package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/ownership"
)

// probeMode is the mode label that the webhook answers in a dry run, with its version in a warning.
const probeMode = protocol.ProbeMode

// What the webhook's warnings begin with.
const (
	answeredPrefix = protocol.WarningPrefix + protocol.Answered
	skippedPrefix  = protocol.WarningPrefix + protocol.Skipped
	stalePrefix    = protocol.WarningPrefix + protocol.Stale
	// unknownMode is the answer of a version that does not know probeMode.
	unknownMode = protocol.WarningPrefix + ownership.ModeAnnotation + " "
)

// reply is the webhook's answer to a dry run.
type reply struct {
	// silent reports whether a dry run was not answered.
	answered, silent bool
	version          string
}

// target is a namespace in which an entry reviews writes.
type target struct {
	hook      string
	namespace string
}

// checkDryRun creates an object as a dry run, which the webhook answers with a warning: the way of a real write, through the API
// server, the configuration, the network, TLS and a pod.
func (d *diagnosis) checkDryRun(ctx context.Context, c *Check) {
	if d.install.configuration == nil {
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
	if d.options.Namespace == "" || len(d.spaces.all) == 0 {
		c.found(d.install.object(), "its namespaceSelectors select no namespace: handoff reviews nothing", d.reinstall()...)
		return
	}
	reason := ""
	for _, hook := range d.install.hooks {
		if excluded := excludedBy(hook, d.spaces.all[0].Labels); reviewsObjects(hook) && reason == "" {
			reason = excluded
		}
	}
	c.found(named("namespace", d.options.Namespace, ""), "is excluded by the namespaceSelectors ("+reason+
		"): handoff reviews nothing there", "check another namespace: kubectl handoff doctor -n NAMESPACE",
		"or remove the requirement from the namespaceSelector, and apply the configuration again")
}

// targets returns a namespace for each entry, preferably one that has opted in.
func (d *diagnosis) targets() (targets []target) {
	if !d.spaces.known {
		name := d.options.Namespace
		if name == "" {
			name = metav1.NamespaceDefault
		}
		return []target{{"", name}}
	}
	for _, hook := range d.install.hooks {
		if !reviewsObjects(hook) {
			continue
		}
		best, score := "", -1
		for i := range d.spaces.all {
			namespace := &d.spaces.all[i]
			if excludedBy(hook, namespace.Labels) != "" || namespace.DeletionTimestamp != nil {
				continue
			}
			if s := preference(namespace); s > score {
				best, score = namespace.Name, s
			}
		}
		if best != "" {
			targets = append(targets, target{hook.Name, best})
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
	warnings, err := d.ask(ctx, to.namespace)
	for _, warning := range warnings {
		version, answered := strings.CutPrefix(warning, answeredPrefix)
		switch {
		case answered:
			d.reply.answered, d.reply.version = true, version
			return fmt.Sprintf("%s answered in namespace %s", version, to.namespace)
		case strings.HasPrefix(warning, unknownMode):
			d.reply.answered = true
			return "answered in namespace " + to.namespace
		case strings.HasPrefix(warning, skippedPrefix):
			d.reply.answered = true
			c.found(d.pods(), "a pod answered, but did not review the dry run: "+warning, d.logs(), "docs/operations.md, skipped reviews")
			return ""
		case strings.HasPrefix(warning, stalePrefix):
			c.found(d.pods(), "a pod answered that cannot reach the API server: "+warning, d.logs(), "docs/operations.md, a stale pod")
		}
	}
	return d.unanswered(c, to, err)
}

func (d *diagnosis) pods() string {
	if d.install.deployment != nil {
		return named("deployment.apps", d.install.deployment.Name, d.install.deployment.Namespace)
	}
	return d.install.object()
}

// unanswered reports a dry run without an answer, with the API server's error if there is one.
func (d *diagnosis) unanswered(c *Check, to target, err error) string {
	name := to.hook
	if name == "" {
		name = "handoff"
	}
	switch {
	case err == nil:
		d.reply.silent = true
		c.found(d.install.object(), "no answer from "+name+" to a dry run in namespace "+to.namespace+
			": the API server did not call it, or allowed the write because the call failed",
			"fix the other problems first; if there are none, search the log of the API server for: failing open "+mainWebhook)
	case strings.Contains(err.Error(), "failed calling webhook") && strings.Contains(err.Error(), webhookSuffix):
		d.reply.silent = true
		c.found(d.install.object(), "the API server refuses writes, because failurePolicy is Fail and a call failed: "+err.Error(),
			append(networkRemedies(err.Error(), d), "kubectl delete mutatingwebhookconfiguration "+d.install.configuration.Name)...)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot create resource"):
		c.gap("%s: requires permission to create deployments.apps -n %s, for a dry run; or choose a namespace with -n",
			c.Name, to.namespace)
	default:
		c.unread("make a dry run in namespace "+to.namespace+"; choose another one with -n", err)
	}
	return ""
}

// ask creates a Deployment without replicas as a dry run, which opts in itself, and returns the API server's warnings. Nothing is
// stored, and no pod is created.
func (d *diagnosis) ask(ctx context.Context, namespace string) ([]string, error) {
	c := rest.CopyConfig(d.options.Config)
	warnings := &warnings{}
	c.WarningHandler, c.WarningHandlerWithContext = warnings, nil
	objects, err := dynamic.NewForConfig(c)
	if err != nil {
		return nil, err
	}
	deployments := objects.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(namespace)
	_, err = deployments.Create(ctx, probeObject("handoff-doctor-"+rand.String(8)),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "kubectl-handoff"})
	return warnings.all(), err
}

// probeObject returns a Deployment that meets the Pod Security Standard restricted and the usual policies.
func probeObject(name string) *unstructured.Unstructured {
	match := map[string]any{"app.kubernetes.io/name": name}
	resources := map[string]any{"cpu": "10m", "memory": "16Mi"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": appsv1.SchemeGroupVersion.String(), "kind": "Deployment",
		"metadata": map[string]any{
			"name": name, "labels": map[string]any{"app.kubernetes.io/name": name, ownership.ModeLabel: probeMode},
		},
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

func (w *warnings) all() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.texts)
}

// probeNamespaces creates a namespace in mode enforce as a dry run, which the webhook labels.
func (d *diagnosis) probeNamespaces(ctx context.Context, c *Check) {
	labels := func(hook *admissionregistrationv1.MutatingWebhook) bool { return hook.Name == namespacesWebhook }
	if !slices.ContainsFunc(d.install.hooks, labels) || d.options.Namespace != "" {
		return
	}
	name := "handoff-doctor-" + rand.String(8)
	created, err := d.objects.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Create(ctx, &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
				"name": name, "annotations": map[string]any{ownership.ModeAnnotation: string(ownership.ModeEnforce)},
			},
		},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "kubectl-handoff"})
	switch {
	case err != nil:
		c.unread("create namespaces, for a dry run", err)
	case created.GetLabels()[ownership.ModeAnnotation] != string(ownership.ModeEnforce):
		c.found(d.install.object(), "no answer from "+namespacesWebhook+
			" to a dry run: a namespace that opts in is not labeled until a pod repairs it", "fix the other problems first", d.logs())
	}
}
