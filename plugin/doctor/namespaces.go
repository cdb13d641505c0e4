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

// systemLabel marks the namespace of handoff.
const systemLabel = "ownership-handoff.io/system"

// checkNamespaces finds namespaces that seem to have opted in and have not.
func (d *diagnosis) checkNamespaces(ctx context.Context, c *Check) {
	if err := d.readNamespaces(ctx); isAbsent(err) {
		c.found(named("namespace", d.options.Namespace, ""), "not found", "kubectl get namespaces")
		return
	} else if err != nil {
		what := "list namespaces"
		if d.options.Namespace != "" {
			what = "get namespace/" + d.options.Namespace
		}
		c.unread(what, err)
		return
	}
	modes := map[ownership.Mode]int{}
	for i := range d.namespaces {
		namespace := &d.namespaces[i]
		if namespace.DeletionTimestamp != nil {
			continue
		}
		mode, annotated := modeOf(namespace)
		if annotated {
			modes[mode]++
		}
		d.checkKeys(c, namespace)
		d.checkMode(ctx, c, namespace)
	}
	c.Detail = fmt.Sprintf("%d in mode enforce, %d in mode warn, of %d", modes[ownership.ModeEnforce], modes[ownership.ModeWarn],
		len(d.namespaces))
	d.checkObjects(ctx, c)
}

// checkObjects finds objects that seem to override the mode of their namespace and do not.
func (d *diagnosis) checkObjects(ctx context.Context, c *Check) {
	annotated, unread, err := d.options.Annotated(ctx, d.options.Namespace)
	switch {
	case err != nil:
		c.unread("find objects with the annotation "+ownership.ModeAnnotation, err)
	case len(unread) > 0:
		c.gap("%s: could not list %s, to find objects with the annotation %s",
			c.Name, strings.Join(unread, ", "), ownership.ModeAnnotation)
	}
	if len(annotated) == 0 {
		return
	}
	first := annotated[0]
	c.found(first.Object, source.AnnotatedNote(annotated),
		fmt.Sprintf("kubectl label --overwrite %s %s=%s", first.Object, ownership.ModeLabel, first.Mode),
		fmt.Sprintf("kubectl annotate %s %s-", first.Object, ownership.ModeAnnotation))
}

func (d *diagnosis) readNamespaces(ctx context.Context) (err error) {
	if d.options.Namespace == "" {
		d.namespaces, err = d.in.Namespaces(ctx, "")
		return err
	}
	one, err := d.in.Namespace(ctx, d.options.Namespace)
	if err == nil {
		d.namespaces = []corev1.Namespace{*one}
	}
	return err
}

// modeOf returns the mode of a namespace's annotation.
func modeOf(namespace *corev1.Namespace) (mode ownership.Mode, annotated bool) {
	text, annotated := namespace.Annotations[ownership.ModeAnnotation]
	if !annotated {
		return ownership.ModeOff, false
	}
	mode, _ = ownership.ParseMode(text)
	return mode, true
}

// checkKeys finds annotations and labels that look like the mode annotation.
func (d *diagnosis) checkKeys(c *Check, namespace *corev1.Namespace) {
	if _, annotated := namespace.Annotations[ownership.ModeAnnotation]; annotated {
		return
	}
	object := named("namespace", namespace.Name, "")
	for _, key := range slices.Sorted(maps.Keys(namespace.Annotations)) {
		if looksLike(key) {
			c.found(object, fmt.Sprintf("annotation %s has no effect: the key is %s", printable.Text(key), ownership.ModeAnnotation),
				optIn(namespace.Name, namespace.Annotations[key]), "kubectl annotate namespace "+namespace.Name+" "+quoted(key+"-"))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(namespace.Labels)) {
		if key == ownership.ModeAnnotation || looksLike(key) {
			c.found(object, fmt.Sprintf("label %s does not opt in: set the annotation %s", printable.Text(key), ownership.ModeAnnotation),
				optIn(namespace.Name, namespace.Labels[key]), "kubectl label namespace "+namespace.Name+" "+quoted(key+"-"))
		}
	}
}

// looksLike reports whether a key is most likely a misspelled mode annotation: its prefix names handoff and its name is close to
// "mode", or its prefix is close to that of handoff and its name is "mode".
func looksLike(key string) bool {
	if key == ownership.ModeAnnotation || key == systemLabel || len(key) > 2*len(ownership.ModeAnnotation) {
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
func (d *diagnosis) checkMode(ctx context.Context, c *Check, namespace *corev1.Namespace) {
	text, annotated := namespace.Annotations[ownership.ModeAnnotation]
	label, labeled := namespace.Labels[ownership.ModeLabel]
	object := named("namespace", namespace.Name, "")
	mode, known := ownership.ModeOf(text, annotated)
	if !known {
		c.found(object, "mode "+short(printable.Text(text))+" is unknown and counts as warn: handoff changes nothing there",
			optIn(namespace.Name, text))
	}
	var a installation.Answer
	if d.in.Unread == nil || d.options.Namespace != "" { // else it would take a dry run for each
		a = d.in.Mode(ctx, installation.Object{Namespace: namespace.Name})
	}
	switch {
	case a.Reason == installation.Excluded:
		excluded := installation.UnmetIfLabeled(d.in.Main(), namespace, mode)
		c.found(object, fmt.Sprintf("is in mode %s, but the namespaceSelector of %s excludes it (%s): handoff reviews nothing there",
			mode, installation.MainEntry, excluded), "kubectl handoff disable "+namespace.Name,
			"or remove the requirement from the namespaceSelector, and apply the configuration again")
	case a.Reason == installation.LabelMissing:
		c.found(object, fmt.Sprintf("is in mode %s, but its label %s is missing: the API server does not call handoff",
			mode, ownership.ModeLabel), d.relabel(namespace.Name)...)
	case a.Reason == installation.NotCalled:
		c.found(object, fmt.Sprintf("is in mode %s, but %s", mode, a.Why),
			"ask a cluster administrator to run: kubectl handoff doctor -n "+namespace.Name)
	case a.Reason == installation.NotKnown:
		c.gap("%s: %s", c.Name, a.Why)
	case mode != ownership.ModeOff && labeled && label != string(mode) && d.in.FollowsLabel():
		c.found(object, fmt.Sprintf("is in mode %s, but its label is %s", mode, short(label)), d.relabel(namespace.Name)...)
	case annotated && mode == ownership.ModeOff && labeled && d.in.FollowsLabel():
		c.found(object, "is in mode off, but its label is "+short(label), d.relabel(namespace.Name)...)
	case mode == ownership.ModeOff && d.options.Namespace != "" && !d.excludes(namespace):
		c.found(object, "is in mode off: handoff keeps nothing there, except for objects with the label "+ownership.ModeLabel,
			"kubectl handoff enable "+namespace.Name)
	case mode == ownership.ModeWarn && known && d.options.Namespace != "":
		c.found(object, "is in mode warn: handoff reports what it would keep, and keeps nothing",
			"kubectl handoff enable "+namespace.Name)
	}
}

// excludes reports whether the main entry cannot select a namespace in any mode.
func (d *diagnosis) excludes(namespace *corev1.Namespace) bool {
	return d.in.Main() != nil && installation.UnmetIfLabeled(d.in.Main(), namespace, ownership.ModeEnforce) != ""
}

// relabel returns how to make the label follow the annotation: any write does while a pod answers, and the pods repair it.
func (d *diagnosis) relabel(name string) []string {
	return []string{"kubectl patch namespace " + name + " --type=merge -p '{}'", d.logs()}
}

// optIn returns the command that sets the mode that a value most likely means.
func optIn(name, value string) string {
	command := "kubectl handoff enable " + name
	if similar.Distance(strings.ToLower(value), string(ownership.ModeWarn)) <= 1 {
		command += " --warn"
	}
	if similar.Distance(strings.ToLower(value), string(ownership.ModeOff)) == 0 {
		command = "kubectl handoff disable " + name
	}
	return command
}

// quoted returns an argument for a shell.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(printable.Text(text), "'", `'"'"'`) + "'"
}
