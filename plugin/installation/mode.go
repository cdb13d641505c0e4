package installation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// Unknown is the mode of an object if nothing shows it.
const Unknown ownership.Mode = "unknown"

// Object is what decides about an object.
type Object struct {
	// Resource is compared with the rules of the entries, unless it is empty.
	Resource schema.GroupResource
	// Namespace is empty for objects without one, which handoff does not review.
	Namespace string
	Labels    map[string]string
}

// ObjectOf returns an object for Mode. The resource is guessed from the kind, as clients do without discovery.
func ObjectOf(kind schema.GroupVersionKind, namespace string, o ownership.Object) Object {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	found := Object{Resource: resource.GroupResource(), Namespace: namespace}
	text := o.Value(fieldpath.MakePathOrDie("metadata", "labels"))
	if json.Unmarshal(text, &found.Labels) != nil { // labels that are not texts, which the API server refuses
		found.Labels = nil
	}
	return found
}

// Reason is why handoff is not in the mode that was set, in two words. It is empty if it is.
type Reason string

// The reasons.
const (
	NotInstalled Reason = "not installed"
	Excluded     Reason = "excluded"
	LabelMissing Reason = "label missing"
	NotCalled    Reason = "not called"
	NotKnown     Reason = "unknown"
)

// Answer is whether the API server calls handoff for an object, and why.
type Answer struct {
	// Mode is the mode in which handoff reviews the object: off if the API server does not call it, and possibly Unknown.
	Mode ownership.Mode
	// Set is the mode in the object's label or its namespace's annotation, Unknown if the namespace cannot be read. Text is its
	// text if it is not a mode; it counts as warn.
	Set  ownership.Mode
	Text *string
	// Reason is why Mode differs from Set, and Why the same as a clause.
	Reason Reason
	Why    string
}

// On reports whether handoff reviews the object.
func (a Answer) On() bool { return a.Mode == ownership.ModeEnforce || a.Mode == ownership.ModeWarn }

// Mode answers for an object.
func (in *Installation) Mode(ctx context.Context, o Object) Answer {
	if o.Namespace == "" {
		return Answer{Mode: ownership.ModeOff, Set: ownership.ModeOff}
	}
	a := Answer{Set: Unknown}
	text, set := o.Labels[ownership.ModeLabel]
	namespace, unread := in.Namespace(ctx, o.Namespace)
	if !set && unread == nil {
		text, set = namespace.Annotations[ownership.ModeAnnotation]
	}
	if set || unread == nil {
		mode, known := ownership.ModeOf(text, set)
		if a.Set = mode; !known {
			a.Text = &text
		}
	}
	if a.Mode = a.Set; a.Set == ownership.ModeOff {
		return a
	}
	switch {
	case in.Missing():
		return a.off(NotInstalled, "the handoff webhook is not installed in this cluster")
	case in.Unread == nil && unread == nil:
		return in.selected(a, o, namespace)
	default:
		return in.asked(ctx, a, o)
	}
}

func (a Answer) off(reason Reason, format string, args ...any) Answer {
	a.Mode, a.Reason, a.Why = ownership.ModeOff, reason, fmt.Sprintf(format, args...)
	return a
}

// selected answers from the selectors and rules of the entries, as the API server decides.
func (in *Installation) selected(a Answer, o Object, namespace *corev1.Namespace) Answer {
	var not Answer // for the first entry, which is the one for namespaces that have opted in
	for _, entry := range in.Entries() {
		if !ReviewsObjects(entry) {
			continue
		}
		unmet, object := Unmet(entry, namespace), unmetBy(entry.ObjectSelector, o.Labels)
		excluded := UnmetIfLabeled(entry, namespace, a.Set)
		covered := o.Resource.Empty() || Covers(entry, o.Resource)
		switch {
		case unmet == "" && object == "" && covered:
			return a
		case not.Reason != "":
		case !covered:
			not = a.off(Excluded, "the rules of %s do not match %s", entry.Name, o.Resource)
		case excluded != "":
			not = a.off(Excluded, "the namespaceSelector of %s excludes namespace %s (%s)", entry.Name, namespace.Name, excluded)
		case object != "":
			not = a.off(Excluded, "the objectSelector of %s excludes it (%s)", entry.Name, object)
		default:
			not = a.off(LabelMissing, "the label %s of namespace %s is missing, by which the API server selects namespaces",
				ownership.ModeLabel, namespace.Name)
		}
	}
	if not.Reason == "" {
		return a.off(NotInstalled, "the webhook configuration has no entry that reviews objects")
	}
	return not
}

// asked answers from dry runs, for users who cannot read the configuration or the namespace.
func (in *Installation) asked(ctx context.Context, a Answer, o Object) Answer {
	_, labeled := o.Labels[ownership.ModeLabel]
	reply, err := in.Ask(ctx, o.Namespace, labeled)
	switch {
	case err != nil:
		a.Mode, a.Reason = Unknown, NotKnown
		a.Why = fmt.Sprintf("whether the API server calls handoff in namespace %s is unknown; ask for permission to %s, "+
			"or to create deployments.apps in the namespace, for a dry run", o.Namespace, ReadPermission)
		switch {
		case errors.Is(err, errInFiles):
			a.Why = fmt.Sprintf("the mode of handoff in namespace %s is unknown; add the namespaces to the files: "+
				"kubectl get namespaces -o yaml", o.Namespace)
		case in.Unread == nil:
			a.Why = fmt.Sprintf("the mode of handoff in namespace %s is unknown; ask for permission to get namespaces %[1]s", o.Namespace)
		}
		return a
	case !reply.Answered:
		return a.off(NotCalled, "the API server does not call handoff in namespace %s, or gets no answer", o.Namespace)
	case a.Set == Unknown:
		if a.Set, a.Mode = reply.Mode, reply.Mode; a.Mode == "" {
			a.Set, a.Mode, a.Reason = Unknown, Unknown, NotKnown
			a.Why = fmt.Sprintf("handoff is on in namespace %s, in an unknown mode; ask for permission to get namespaces %[1]s", o.Namespace)
		}
	}
	return a
}

// Unmet returns the requirement of an entry's namespaceSelector that a namespace does not meet, or "".
func Unmet(entry *admissionregistrationv1.MutatingWebhook, namespace *corev1.Namespace) string {
	return unmetBy(entry.NamespaceSelector, labels.Merge(namespace.Labels, labels.Set{corev1.LabelMetadataName: namespace.Name}))
}

// UnmetIfLabeled is Unmet for the namespace with the mode label that follows a mode.
func UnmetIfLabeled(entry *admissionregistrationv1.MutatingWebhook, namespace *corev1.Namespace, mode ownership.Mode) string {
	labeled := namespace.DeepCopy()
	labeled.Labels = labels.Merge(namespace.Labels, labels.Set{ownership.ModeLabel: string(mode)})
	return Unmet(entry, labeled)
}

func unmetBy(selector *metav1.LabelSelector, of map[string]string) string {
	if selector == nil { // the API server sets one that selects all
		return ""
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return err.Error()
	}
	requirements, selectable := parsed.Requirements()
	if !selectable {
		return "it selects nothing"
	}
	unmet := func(r labels.Requirement) bool { return !r.Matches(labels.Set(of)) }
	if at := slices.IndexFunc(requirements, unmet); at >= 0 {
		return requirements[at].String()
	}
	return ""
}

// Covers reports whether an entry's rules match updates of a namespaced resource. Versions do not matter: with matchPolicy
// Equivalent, a rule for one version matches the others.
func Covers(entry *admissionregistrationv1.MutatingWebhook, resource schema.GroupResource) bool {
	one := func(names []string, wanted ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(wanted, name) })
	}
	return slices.ContainsFunc(entry.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		operation := slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) ||
			slices.Contains(rule.Operations, admissionregistrationv1.Update)
		scope := rule.Scope == nil || *rule.Scope != admissionregistrationv1.ClusterScope
		return operation && scope && one(rule.APIGroups, "*", resource.Group) &&
			one(rule.Resources, "*", "*/*", resource.Resource, resource.Resource+"/*")
	})
}

var errInFiles = errors.New("the objects are in files")
