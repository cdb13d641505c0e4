package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/similar"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// systemLabel marks the namespace of handoff.
const systemLabel = "ownership-handoff.io/system"

// namespaces are the namespaces that are checked; known reports whether they could be read.
type namespaces struct {
	known bool
	all   []corev1.Namespace
}

// checkNamespaces finds namespaces that seem to have opted in and have not.
func (d *diagnosis) checkNamespaces(ctx context.Context, c *Check) {
	if !d.readNamespaces(ctx, c) {
		return
	}
	modes := map[ownership.Mode]int{}
	for i := range d.spaces.all {
		namespace := &d.spaces.all[i]
		if namespace.DeletionTimestamp != nil {
			continue
		}
		mode, annotated := modeOf(namespace)
		if annotated {
			modes[mode]++
		}
		d.checkKeys(c, namespace)
		d.checkMode(c, namespace)
		if d.install.followsLabel() {
			d.checkLabel(c, namespace)
		}
	}
	c.Detail = fmt.Sprintf("%d in mode enforce, %d in mode warn, of %d", modes[ownership.ModeEnforce], modes[ownership.ModeWarn],
		len(d.spaces.all))
	d.checkObjects(ctx, c)
}

// checkObjects finds objects that seem to override the mode of their namespace and do not.
func (d *diagnosis) checkObjects(ctx context.Context, c *Check) {
	annotated, unread, err := d.options.Annotated(ctx, d.options.Namespace)
	switch {
	case err != nil:
		c.unread("find objects with the annotation "+ownership.ModeAnnotation, err)
	case len(unread) > 0:
		c.gap("%s: could not list %s, to find objects with the annotation %s", c.Name, strings.Join(unread, ", "), ownership.ModeAnnotation)
	}
	if len(annotated) == 0 {
		return
	}
	first := annotated[0]
	c.found(first.Object, source.AnnotatedNote(annotated),
		fmt.Sprintf("kubectl label --overwrite %s %s=%s", first.Object, ownership.ModeLabel, first.Mode),
		fmt.Sprintf("kubectl annotate %s %s-", first.Object, ownership.ModeAnnotation))
}

func (d *diagnosis) readNamespaces(ctx context.Context, c *Check) bool {
	resource := corev1.SchemeGroupVersion.WithResource("namespaces")
	if d.options.Namespace != "" {
		one, err := get[corev1.Namespace](ctx, d.objects, resource, "", d.options.Namespace)
		if isAbsent(err) {
			c.found(named("namespace", d.options.Namespace, ""), "not found", "kubectl get namespaces")
			return false
		}
		if err != nil {
			c.unread("get namespace/"+d.options.Namespace, err)
			return false
		}
		d.spaces = namespaces{true, []corev1.Namespace{*one}}
		return true
	}
	all, err := list[corev1.Namespace](ctx, d.objects, resource, "", metav1.ListOptions{})
	if err != nil {
		c.unread("list namespaces", err)
		return false
	}
	d.spaces = namespaces{true, all}
	return true
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
	for _, key := range sortedKeys(namespace.Annotations) {
		if looksLike(key) {
			c.found(object, fmt.Sprintf("annotation %s has no effect: the key is %s", printable.Text(key), ownership.ModeAnnotation),
				optIn(namespace.Name, namespace.Annotations[key]), "kubectl annotate namespace "+namespace.Name+" "+quoted(key+"-"))
		}
	}
	for _, key := range sortedKeys(namespace.Labels) {
		if key == ownership.ModeAnnotation || looksLike(key) {
			c.found(object, fmt.Sprintf("label %s does not opt in: set the annotation %s", printable.Text(key), ownership.ModeAnnotation),
				optIn(namespace.Name, namespace.Labels[key]), "kubectl label namespace "+namespace.Name+" "+quoted(key+"-"))
		}
	}
}

func sortedKeys(of map[string]string) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
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

// checkMode finds unknown modes, and modes in namespaces of which the API server sends no writes.
func (d *diagnosis) checkMode(c *Check, namespace *corev1.Namespace) {
	text, annotated := namespace.Annotations[ownership.ModeAnnotation]
	if !annotated {
		return
	}
	object := named("namespace", namespace.Name, "")
	mode, known := ownership.ParseMode(text)
	if !known {
		c.found(object, "mode "+short(printable.Text(text))+" is unknown and counts as warn: handoff changes nothing there",
			optIn(namespace.Name, text))
	}
	hook := d.install.main()
	if mode == ownership.ModeOff || hook == nil {
		return
	}
	withLabel := labels.Merge(namespace.Labels, nil)
	if d.install.followsLabel() {
		withLabel[ownership.ModeAnnotation] = string(mode) // a missing label is a problem of its own
	}
	if excluded := excludedBy(hook, withLabel); excluded != "" {
		c.found(object, fmt.Sprintf("is in mode %s, but the namespaceSelector of %s excludes it (%s): handoff reviews nothing there",
			mode, hook.Name, excluded), "kubectl handoff disable "+namespace.Name,
			"or remove the requirement from the namespaceSelector, and apply the configuration again")
	}
}

// excludedBy returns the requirement of an entry's namespaceSelector that labels do not meet, or "".
func excludedBy(hook *admissionregistrationv1.MutatingWebhook, of map[string]string) string {
	selector, err := metav1.LabelSelectorAsSelector(hook.NamespaceSelector)
	if err != nil {
		return err.Error()
	}
	requirements, selectable := selector.Requirements()
	if !selectable {
		return "it selects nothing"
	}
	for _, requirement := range requirements {
		if !requirement.Matches(labels.Set(of)) {
			return requirement.String()
		}
	}
	return ""
}

// checkLabel finds namespaces with an annotation that the label, by which the API server selects them, does not follow.
func (d *diagnosis) checkLabel(c *Check, namespace *corev1.Namespace) {
	mode, annotated := modeOf(namespace)
	label, labeled := namespace.Labels[ownership.ModeAnnotation]
	object := named("namespace", namespace.Name, "")
	on := annotated && mode != ownership.ModeOff
	if excluded := d.install.main(); on && excludedBy(excluded, labels.Merge(namespace.Labels,
		map[string]string{ownership.ModeAnnotation: string(mode)})) != "" {
		return // the label would change nothing
	}
	switch {
	case on && !labeled:
		c.found(object, fmt.Sprintf("is in mode %s, but its label %s is missing: the API server does not call handoff",
			mode, ownership.ModeAnnotation), d.relabel(namespace.Name)...)
	case on && label != string(mode):
		c.found(object, fmt.Sprintf("is in mode %s, but its label is %s", mode, short(label)),
			d.relabel(namespace.Name)...)
	case annotated && !on && labeled:
		c.found(object, "is in mode off, but its label is "+short(label), d.relabel(namespace.Name)...)
	}
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
