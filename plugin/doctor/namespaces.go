package doctor

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// checkNamespaces finds namespaces in which a mode has no effect.
func (d *diagnosis) checkNamespaces(ctx context.Context) {
	name := d.options.Namespace
	if name == "" {
		all, err := d.in.Namespaces(ctx, "")
		if err != nil {
			d.check.gap("%v", err)
		}
		d.namespaces = slices.DeleteFunc(slices.Clone(all), func(o corev1.Namespace) bool { return o.DeletionTimestamp != nil })
	} else if one, absent := get[corev1.Namespace](ctx, d, "", name); one != nil {
		d.namespaces = []corev1.Namespace{*one}
	} else if absent {
		d.check.found("namespace/"+name, "not found", "kubectl get namespaces")
	}
	modes := map[optin.Mode]int{}
	for i := range d.namespaces {
		modes[d.checkMode(ctx, &d.namespaces[i])]++
	}
	if d.namespaces != nil {
		d.check.Detail = fmt.Sprintf("%d in mode enforce, %d in mode warn, of %d", modes[optin.Enforce], modes[optin.Warn],
			len(d.namespaces))
	}
}

// checkMode returns the mode of a namespace. It finds unknown modes, and modes in namespaces of which the API server sends no writes.
// If the user asks about one namespace, it also finds that handoff is not meant to keep anything there.
func (d *diagnosis) checkMode(ctx context.Context, namespace *corev1.Namespace) optin.Mode {
	name, asked := namespace.Name, d.options.Namespace != ""
	text, annotated := namespace.Annotations[optin.Annotation]
	mode, known := optin.ModeOf(text, annotated)
	found := func(problem string, remedies ...string) { d.check.found("namespace/"+name, problem, remedies...) }
	var a installation.Answer
	if d.in.Unread == nil || asked { // else it would take a dry run for each
		a = d.in.Mode(ctx, installation.Object{Namespace: name})
	}
	optedIn := installation.Object{Namespace: name, Labels: map[string]string{optin.Label: string(optin.Enforce)}}
	enable := []string{"kubectl handoff enable " + name, "or kubectl handoff disable " + name}
	switch {
	case a.Reason == installation.NotKnown:
		d.check.gap("%s", a.Why)
	case a.Set != "" && d.in.IsStale(namespace, a):
		// Any write makes the label follow the annotation while a pod answers, and the pods repair it.
		found(fmt.Sprintf("is in mode %s, but its label %s does not follow the annotation", mode, optin.Label),
			"kubectl patch namespace "+name+" --type=merge -p '{}'", d.logs())
	case a.Reason == installation.Excluded, a.Reason == installation.NotCalled:
		found(fmt.Sprintf("is in mode %s, but %s", mode, a.Why), "kubectl handoff disable "+name, removeRequirement,
			"or ask a cluster administrator to run: kubectl handoff doctor -n "+name)
	case !known:
		found("mode "+short(printable.Text(text))+" is unknown and counts as warn: handoff changes nothing there", enable...)
	case asked && mode == optin.Off && d.in.Mode(ctx, optedIn).Reason != installation.Excluded,
		asked && mode == optin.Warn:
		found(fmt.Sprintf("is in mode %s: handoff keeps nothing there, except for objects with the label %s", mode, optin.Label),
			enable...)
	}
	return mode
}
