package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/similar"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// checkNamespaces finds namespaces that seem to have opted in and have not.
func (d *diagnosis) checkNamespaces(ctx context.Context) {
	name := d.options.Namespace
	if name == "" {
		d.namespaces, _ = list[corev1.Namespace](ctx, d, "", "")
	} else if one, absent := get[corev1.Namespace](ctx, d, "", name); one != nil {
		d.namespaces = []corev1.Namespace{*one}
	} else if absent {
		d.check.found("namespace/"+name, "not found", "kubectl get namespaces")
	}
	if d.namespaces == nil {
		return
	}
	modes := map[ownership.Mode]int{}
	for i := range d.namespaces {
		if namespace := &d.namespaces[i]; namespace.DeletionTimestamp == nil {
			modes[d.checkMode(ctx, namespace)]++
		}
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

// checkMode returns the mode of a namespace. It finds unknown modes, and modes in namespaces of which the API server sends no writes.
// If the user asks about one namespace, it also finds that handoff is not meant to keep anything there.
func (d *diagnosis) checkMode(ctx context.Context, namespace *corev1.Namespace) ownership.Mode {
	name := namespace.Name
	text, annotated := namespace.Annotations[ownership.ModeAnnotation]
	mode, known := ownership.ModeOf(text, annotated)
	found := func(problem string, remedies ...string) { d.check.found("namespace/"+name, problem, remedies...) }
	if !annotated {
		d.checkKeys("annotation %s has no effect: the key is %s", "annotate", name, namespace.Annotations)
		d.checkKeys("label %s does not opt in: set the annotation %s", "label", name, namespace.Labels)
	}
	if !known {
		found("mode "+short(printable.Text(text))+" is unknown and counts as warn: handoff changes nothing there", optIn(name, text))
	}
	asked := d.options.Namespace != ""
	var a installation.Answer
	if d.in.Unread == nil || asked { // else it would take a dry run for each
		a = d.in.Mode(ctx, installation.Object{Namespace: name})
	}
	// Any write makes the label follow the annotation while a pod answers, and the pods repair it.
	relabel := []string{"kubectl patch namespace " + name + " --type=merge -p '{}'", d.logs()}
	remedies := map[installation.Reason][]string{
		installation.Excluded:     {"kubectl handoff disable " + name, removeRequirement},
		installation.LabelMissing: relabel,
		installation.NotCalled:    {"ask a cluster administrator to run: kubectl handoff doctor -n " + name},
	}
	optedIn := installation.Object{Namespace: name, Labels: map[string]string{ownership.ModeLabel: string(ownership.ModeEnforce)}}
	label, labeled := namespace.Labels[ownership.ModeLabel]
	switch {
	case remedies[a.Reason] != nil:
		found(fmt.Sprintf("is in mode %s, but %s", mode, a.Why), remedies[a.Reason]...)
	case a.Reason == installation.NotKnown:
		d.check.gap("%s", a.Why)
	case annotated && labeled && d.in.FollowsLabel() && d.in.IsStale(namespace, a):
		found(fmt.Sprintf("is in mode %s, but its label is %s", mode, short(label)), relabel...)
	case mode == ownership.ModeOff && asked && d.in.Mode(ctx, optedIn).Reason != installation.Excluded:
		found("is in mode off: handoff keeps nothing there, except for objects with the label "+ownership.ModeLabel,
			"kubectl handoff enable "+name)
	case mode == ownership.ModeWarn && known && asked:
		found("is in mode warn: handoff reports what it would keep, and keeps nothing", "kubectl handoff enable "+name)
	}
	return mode
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
