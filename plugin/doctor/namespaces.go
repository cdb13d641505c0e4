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

// checkNamespaces finds namespaces that seem to have opted in and have not, and such objects.
func (d *diagnosis) checkNamespaces(ctx context.Context) {
	name := d.options.Namespace
	if name == "" {
		all, _ := list[corev1.Namespace](ctx, d, "", "")
		d.namespaces = slices.DeleteFunc(all, func(namespace corev1.Namespace) bool { return namespace.DeletionTimestamp != nil })
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
		modes[d.checkMode(ctx, &d.namespaces[i])]++
	}
	d.check.Detail = fmt.Sprintf("%d in mode enforce, %d in mode warn, of %d", modes[ownership.ModeEnforce], modes[ownership.ModeWarn],
		len(d.namespaces))
	annotated, unread, err := source.FindAnnotated(ctx, d.options.Cluster, name)
	if err != nil {
		d.check.gap("%v", err)
	}
	if len(unread) > 0 {
		d.check.gap("could not list %s, to find objects with the annotation", strings.Join(unread, ", "))
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
	name, asked := namespace.Name, d.options.Namespace != ""
	text, annotated := namespace.Annotations[ownership.ModeAnnotation]
	mode, known := ownership.ModeOf(text, annotated)
	if !annotated {
		d.checkKeys(name, "annotation", "annotate", namespace.Annotations)
		d.checkKeys(name, "label", "label", namespace.Labels)
	}
	found := func(problem string, remedies ...string) { d.check.found("namespace/"+name, problem, remedies...) }
	var a installation.Answer
	if d.in.Unread == nil || asked { // else it would take a dry run for each
		a = d.in.Mode(ctx, installation.Object{Namespace: name})
	}
	optedIn := installation.Object{Namespace: name, Labels: map[string]string{ownership.ModeLabel: string(ownership.ModeEnforce)}}
	switch {
	case a.Reason == installation.NotKnown:
		d.check.gap("%s", a.Why)
	case annotated && a.Set != "" && d.in.IsStale(namespace, a):
		// Any write makes the label follow the annotation while a pod answers, and the pods repair it.
		found(fmt.Sprintf("is in mode %s, but its label %s does not follow the annotation", mode, ownership.ModeLabel),
			"kubectl patch namespace "+name+" --type=merge -p '{}'", d.logs())
	case a.Reason == installation.Excluded, a.Reason == installation.NotCalled:
		found(fmt.Sprintf("is in mode %s, but %s", mode, a.Why), "kubectl handoff disable "+name, removeRequirement,
			"or ask a cluster administrator to run: kubectl handoff doctor -n "+name)
	case !known:
		found("mode "+short(printable.Text(text))+" is unknown and counts as warn: handoff changes nothing there", enable(name)...)
	case asked && mode == ownership.ModeOff && d.in.Mode(ctx, optedIn).Reason != installation.Excluded,
		asked && mode == ownership.ModeWarn:
		found(fmt.Sprintf("is in mode %s: handoff keeps nothing there, except for objects with the label %s", mode, ownership.ModeLabel),
			enable(name)...)
	}
	return mode
}

// enable returns the commands that set a mode.
func enable(namespace string) []string {
	return []string{"kubectl handoff enable " + namespace, "or kubectl handoff disable " + namespace}
}

// checkKeys finds keys of a namespace without the mode annotation that look like it; command is the one that removes them.
func (d *diagnosis) checkKeys(namespace, what, command string, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if looksLike(key) {
			shown := printable.Text(key)
			quoted := "'" + strings.ReplaceAll(shown, "'", `'"'"'`) + "-'"
			d.check.found("namespace/"+namespace, what+" "+shown+" does not opt in: set the annotation "+ownership.ModeAnnotation,
				append(enable(namespace), "kubectl "+command+" namespace "+namespace+" "+quoted)...)
		}
	}
}

// looksLike reports whether a key of a namespace that has no mode annotation is most likely meant as such.
func looksLike(key string) bool {
	key = strings.ToLower(key)
	return strings.Contains(key, "handoff") && strings.Contains(key, "mode") || similar.Distance(key, ownership.ModeAnnotation) <= 3
}
