package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/internal/similar"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// checkNamespaces finds namespaces that seem to have opted in and have not.
func (d *diagnosis) checkNamespaces(ctx context.Context) {
	var err error
	what := "list namespaces"
	if d.options.Namespace == "" {
		d.namespaces, err = d.in.Namespaces(ctx, "")
	} else if one, getErr := d.in.Namespace(ctx, d.options.Namespace); getErr == nil {
		d.namespaces = []corev1.Namespace{*one}
	} else {
		what, err = "get namespace/"+d.options.Namespace, getErr
	}
	switch {
	case apierrors.IsNotFound(err):
		d.check.found(named("namespace", d.options.Namespace, ""), "not found", "kubectl get namespaces")
		return
	case err != nil:
		d.unread(what, err)
		return
	}
	modes := map[ownership.Mode]int{}
	for i := range d.namespaces {
		namespace := &d.namespaces[i]
		if namespace.DeletionTimestamp != nil {
			continue
		}
		if mode, annotated := modeOf(namespace); annotated {
			modes[mode]++
		} else {
			d.checkKeys("annotation %s has no effect: the key is %s", "annotate", namespace.Name, namespace.Annotations)
			d.checkKeys("label %s does not opt in: set the annotation %s", "label", namespace.Name, namespace.Labels)
		}
		d.checkMode(ctx, namespace)
	}
	d.check.Detail = fmt.Sprintf("%d in mode enforce, %d in mode warn, of %d", modes[ownership.ModeEnforce], modes[ownership.ModeWarn],
		len(d.namespaces))
	d.checkObjects(ctx)
}

// checkObjects finds objects that seem to override the mode of their namespace and do not.
func (d *diagnosis) checkObjects(ctx context.Context) {
	annotated, unread, err := source.FindAnnotated(ctx, d.options.Cluster, d.options.Namespace)
	switch {
	case err != nil:
		d.unread("find objects with the annotation "+ownership.ModeAnnotation, err)
	case len(unread) > 0:
		d.check.denied++ // most likely
		d.check.gap("could not list %s, to find objects with the annotation %s", strings.Join(unread, ", "), ownership.ModeAnnotation)
	}
	if len(annotated) > 0 {
		first := annotated[0]
		d.check.found(first.Object, source.AnnotatedNote(annotated),
			fmt.Sprintf("kubectl label --overwrite %s %s=%s", first.Object, ownership.ModeLabel, first.Mode),
			fmt.Sprintf("kubectl annotate %s %s-", first.Object, ownership.ModeAnnotation))
	}
}

func modeOf(namespace *corev1.Namespace) (mode ownership.Mode, annotated bool) {
	text, annotated := namespace.Annotations[ownership.ModeAnnotation]
	mode, _ = ownership.ModeOf(text, annotated)
	return mode, annotated
}

// checkKeys finds keys of a namespace without the mode annotation that look like it; command is the one that removes them.
func (d *diagnosis) checkKeys(problem, command, namespace string, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if looksLike(key) || key == ownership.ModeLabel {
			shown := printable.Text(key)
			quoted := "'" + strings.ReplaceAll(shown, "'", `'"'"'`) + "-'"
			d.check.found(named("namespace", namespace, ""), fmt.Sprintf(problem, shown, ownership.ModeAnnotation),
				optIn(namespace, values[key]), "kubectl "+command+" namespace "+namespace+" "+quoted)
		}
	}
}

// looksLike reports whether a key is most likely a misspelled mode annotation: its prefix names handoff and its name is close to
// "mode", or its prefix is close to that of handoff and its name is "mode".
func looksLike(key string) bool {
	if key == ownership.ModeAnnotation || key == "ownership-handoff.io/system" || len(key) > 2*len(ownership.ModeAnnotation) {
		return false
	}
	prefix, name, ok := strings.Cut(strings.ToLower(key), "/")
	if !ok {
		prefix, name = "", prefix
	}
	handoff := strings.Contains(prefix, "handoff") || strings.Contains(prefix, "hand-off")
	return handoff && similar.Distance(name, "mode") <= 2 || similar.Distance(strings.ToLower(key), ownership.ModeAnnotation) <= 3 ||
		!ok && strings.Contains(name, "handoff") && strings.Contains(name, "mode")
}

// checkMode finds unknown modes, and modes in namespaces of which the API server sends no writes. If the user asks about one
// namespace, it also finds that handoff is not meant to keep anything there.
func (d *diagnosis) checkMode(ctx context.Context, namespace *corev1.Namespace) {
	text, annotated := namespace.Annotations[ownership.ModeAnnotation]
	label, labeled := namespace.Labels[ownership.ModeLabel]
	mode, known := ownership.ModeOf(text, annotated)
	found := func(problem string, remedies ...string) {
		d.check.found(named("namespace", namespace.Name, ""), problem, remedies...)
	}
	if !known {
		found("mode "+short(printable.Text(text))+" is unknown and counts as warn: handoff changes nothing there",
			optIn(namespace.Name, text))
	}
	var a installation.Answer
	if d.in.Unread == nil || d.options.Namespace != "" { // else it would take a dry run for each
		a = d.in.Mode(ctx, installation.Object{Namespace: namespace.Name})
	}
	enable := "kubectl handoff enable " + namespace.Name
	// Any write makes the label follow the annotation while a pod answers, and the pods repair it.
	relabel := []string{"kubectl patch namespace " + namespace.Name + " --type=merge -p '{}'", d.logs()}
	remedies := map[installation.Reason][]string{
		installation.Excluded: {
			"kubectl handoff disable " + namespace.Name,
			"or remove the requirement from the namespaceSelector, and apply the configuration again",
		},
		installation.LabelMissing: relabel,
		installation.NotCalled:    {"ask a cluster administrator to run: kubectl handoff doctor -n " + namespace.Name},
	}
	wanted, mustBeLabeled := ownership.NamespaceLabel(text, annotated)
	asked := d.options.Namespace != ""
	switch {
	case remedies[a.Reason] != nil:
		found(fmt.Sprintf("is in mode %s, but %s", mode, a.Why), remedies[a.Reason]...)
	case a.Reason == installation.NotKnown:
		d.check.gap("%s", a.Why)
	case annotated && labeled && (label != wanted || !mustBeLabeled) && d.in.FollowsLabel():
		found(fmt.Sprintf("is in mode %s, but its label is %s", mode, short(label)), relabel...)
	case mode == ownership.ModeOff && asked && !d.excludes(namespace):
		found("is in mode off: handoff keeps nothing there, except for objects with the label "+ownership.ModeLabel, enable)
	case mode == ownership.ModeWarn && known && asked:
		found("is in mode warn: handoff reports what it would keep, and keeps nothing", enable)
	}
}

// excludes reports whether the main entry cannot select a namespace in any mode.
func (d *diagnosis) excludes(namespace *corev1.Namespace) bool {
	labeled := map[string]string{ownership.ModeLabel: string(ownership.ModeEnforce)}
	return d.in.Main() != nil && installation.Unmet(d.in.Main(), namespace, labeled) != ""
}

// optIn returns the command that sets the mode that a value most likely means.
func optIn(name, value string) string {
	switch value = strings.ToLower(value); {
	case value == string(ownership.ModeOff):
		return "kubectl handoff disable " + name
	case similar.Distance(value, string(ownership.ModeWarn)) <= 1:
		return "kubectl handoff enable " + name + " --warn"
	default:
		return "kubectl handoff enable " + name
	}
}

// checkDryRun creates an object as a dry run, which the webhook answers: in a namespace where handoff acts, if there is one.
func (d *diagnosis) checkDryRun(ctx context.Context) {
	switch {
	case d.in.Missing():
		d.check.skip("no configuration")
		return
	case d.namespaces == nil || d.in.Unread != nil: // which entries review which namespaces is unknown
		current, _, _ := d.options.Cluster.ToRawKubeConfigLoader().Namespace() // the client has been configured by it
		d.probe(ctx, "handoff", current)
		return
	}
	entry, namespace, score := "", "", -1
	for i := range d.namespaces {
		for _, e := range d.in.Entries() {
			ns := &d.namespaces[i]
			selected := installation.ReviewsObjects(e) && ns.DeletionTimestamp == nil && installation.Unmet(e, ns, nil) == ""
			if s := preference(ns); selected && s > score {
				entry, namespace, score = e.Name, ns.Name, s
			}
		}
	}
	switch {
	case namespace == "" && d.options.Namespace == "":
		d.check.found(d.object(), "its namespaceSelectors select no namespace: handoff reviews nothing", d.reinstall())
	case namespace == "":
		d.check.found(named("namespace", d.options.Namespace, ""), "is excluded by the namespaceSelectors ("+
			installation.Unmet(d.in.Entries()[0], &d.namespaces[0], nil)+"): handoff reviews nothing there",
			"check another namespace: kubectl handoff doctor -n NAMESPACE",
			"or remove the requirement from the namespaceSelector, and apply the configuration again")
	default:
		d.probe(ctx, entry, namespace)
	}
	if installation.Find(d.in.Entries(), installation.NamespacesEntry) != nil && d.options.Namespace == "" {
		d.probeNamespaces(ctx)
	}
}

// preference returns how well a namespace fits for a dry run: where handoff acts, and else where users can create objects.
func preference(namespace *corev1.Namespace) int {
	mode, _ := modeOf(namespace)
	score := map[ownership.Mode]int{ownership.ModeEnforce: 3, ownership.ModeWarn: 2}[mode]
	if score == 0 && namespace.Name == metav1.NamespaceDefault {
		return 1
	}
	return score
}

// probe makes a dry run in a namespace, and reports its answer or, without one, the API server's error.
func (d *diagnosis) probe(ctx context.Context, entry, namespace string) {
	reply, err := d.in.Ask(ctx, namespace, true)
	switch {
	case reply.Answered:
		d.checkReply(reply, namespace)
	case err == nil:
		d.silent = true
		object, remedy := d.object(), "fix the other problems first; if there are none, search the log of the API server for: "+
			"failing open "+installation.MainEntry
		if d.in.Unread != nil {
			object = named("namespace", namespace, "")
			remedy = "ask a cluster administrator to run: kubectl handoff doctor -n " + namespace
		}
		d.check.found(object, "no answer from "+entry+" to a dry run in namespace "+namespace+
			": the API server did not call it, or allowed the write because the call failed", remedy)
	case installation.Refused(err):
		d.silent = true
		d.check.found(d.object(), "the API server refuses writes, because failurePolicy is Fail and a call failed: "+err.Error(),
			append(d.networkRemedies(err.Error()), "kubectl delete mutatingwebhookconfiguration "+d.configuration().Name)...)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot create resource"):
		d.check.requires("create deployments.apps -n " + namespace + ", for a dry run; or choose a namespace with -n")
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
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "handoff-doctor-" + rand.String(8), Annotations: map[string]string{ownership.ModeAnnotation: string(ownership.ModeEnforce)},
	}}
	client, err := coreclient.NewForConfig(d.config)
	if err == nil {
		namespace, err = client.Namespaces().Create(ctx, namespace,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: installation.FieldManager})
	}
	switch {
	case err != nil:
		d.unread("create namespaces, for a dry run", err)
	case namespace.Labels[ownership.ModeLabel] != string(ownership.ModeEnforce):
		d.check.found(d.object(), "no answer from "+installation.NamespacesEntry+
			" to a dry run: a namespace that opts in is not labeled until a pod repairs it", "fix the other problems first", d.logs())
	}
}
