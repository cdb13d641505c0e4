package installation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	registration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
)

// Unknown is the mode of an object if nothing shows it.
const Unknown optin.Mode = "unknown"

// Object is what decides about an object.
type Object struct {
	// Resource is compared with the rules of the entries, unless it is empty.
	Resource schema.GroupResource
	// Namespace is empty for an object outside namespaces, which only its label can opt in.
	Namespace string
	Labels    map[string]string
}

// ObjectOf returns an object for Mode. The resource is guessed from the kind, as clients do without discovery.
func ObjectOf(kind schema.GroupVersionKind, namespace string, o ownership.Object) Object {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	found := Object{Resource: resource.GroupResource(), Namespace: namespace}
	_ = json.Unmarshal(o.At("metadata", "labels").Text(), &found.Labels) // the API server refuses labels that are not texts
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
	NoAnswer     Reason = "no answer"
	NotKnown     Reason = "unknown"
)

// Answer is whether the API server calls handoff for an object, and why.
type Answer struct {
	// Mode is the mode in which handoff reviews the object: off if the API server does not call it, and possibly Unknown.
	Mode optin.Mode `json:"active"`
	// Set is the mode in the object's label or its namespace's annotation, Unknown if the namespace cannot be read. Text is its
	// text if it is not a mode; it counts as warn.
	Set  optin.Mode `json:"mode"`
	Text *string    `json:"annotation,omitempty"`
	// Reason is why Mode differs from Set, and Why the same as a clause. Without a Reason, Why says what has not been confirmed.
	Reason Reason `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"`
}

// On reports whether handoff reviews the object.
func (a Answer) On() bool { return a.Mode == optin.Enforce || a.Mode == optin.Warn }

// Unanswered reports whether handoff did not answer a dry run.
func (a Answer) Unanswered() bool { return a.Reason == NotCalled || a.Reason == NoAnswer }

func (a Answer) but(mode optin.Mode, reason Reason, format string, args ...any) Answer {
	a.Mode, a.Reason, a.Why = mode, reason, fmt.Sprintf(format, args...)
	return a
}

const refused = "the API server refuses writes, because handoff does not answer and its failurePolicy is Fail"

// Effect is Mode, confirmed by one dry run for all objects: selectors and rules do not show whether a pod answers.
func (in *Installation) Effect(ctx context.Context, o Object) Answer {
	a := in.Mode(ctx, o)
	if !a.On() || in.answered || in.OfFiles() {
		return a
	}
	in.confirmed = cmp.Or(in.confirmed, o.Namespace, metav1.NamespaceDefault)
	switch reply, err := in.Ask(ctx, in.confirmed, true); {
	case Refused(err):
		return a.but(optin.Off, NoAnswer, refused)
	case err != nil:
		a.Why = fmt.Sprintf("whether a pod of handoff answers is unknown: no dry run is possible in namespace %s: %v", in.confirmed, err)
	case !reply.Answered:
		return a.but(optin.Off, NoAnswer, "handoff has not answered a dry run in namespace %s; run kubectl handoff doctor", in.confirmed)
	}
	return a
}

// Mode answers for an object.
func (in *Installation) Mode(ctx context.Context, o Object) Answer {
	if o.Namespace == "" && o.Resource == namespaces.GroupResource() { // its label selects the objects in it
		return Answer{Mode: optin.Off, Set: optin.Off}
	}
	namespace, unread := &corev1.Namespace{}, error(nil)
	if o.Namespace != "" {
		namespace, unread = in.Namespace(ctx, o.Namespace)
	}
	a := Answer{Mode: Unknown, Set: Unknown}
	if label, labeled := o.Labels[optin.Label]; labeled || unread == nil {
		annotation, annotated := cmp.Or(namespace, &corev1.Namespace{}).Annotations[optin.Annotation]
		text, mode, known := optin.Of(label, labeled, annotation, annotated)
		if a.Mode, a.Set = mode, mode; !known {
			a.Text = &text
		}
	}
	switch {
	case a.Set == optin.Off:
		return a
	case in.Missing():
		return a.but(optin.Off, NotInstalled, "the handoff webhook is not installed in this cluster")
	case in.Unread == nil && unread == nil:
		return in.selected(a, o, namespace)
	default:
		return in.asked(ctx, a, o)
	}
}

// selected answers from the selectors and rules of the entries, as the API server decides. The reason is that of the first entry,
// which is the one for namespaces that have opted in.
func (in *Installation) selected(a Answer, o Object, namespace *corev1.Namespace) Answer {
	is := labels.Merge(namespace.Labels, labels.Set{corev1.LabelMetadataName: namespace.Name})
	optedIn := labels.Merge(is, labels.Set{optin.Label: string(a.Set)})
	not := a.but(optin.Off, NotInstalled, "the webhook configuration has no entry that reviews objects")
	for _, entry := range slices.Backward(in.Entries()) {
		selector := entry.NamespaceSelector
		if o.Namespace == "" { // the API server does not compare it with objects outside namespaces
			selector = nil
		}
		excluded, object := unmet(selector, optedIn), unmet(entry.ObjectSelector, o.Labels)
		switch {
		case !Reviews(entry, schema.GroupResource{}, o.Namespace != ""): // the entry is for others
		case !Reviews(entry, o.Resource, o.Namespace != ""):
			not = a.but(optin.Off, Excluded, "the rules of %s do not match %s", entry.Name, o.Resource)
		case unmet(selector, is) == "" && object == "":
			return a
		case excluded != "":
			not = a.but(optin.Off, Excluded, "the namespaceSelector of %s excludes namespace %s (%s)",
				entry.Name, namespace.Name, excluded)
		case object != "":
			not = a.but(optin.Off, Excluded, "the objectSelector of %s excludes it (%s)", entry.Name, object)
		default:
			not = a.but(optin.Off, LabelMissing,
				"the label %s of namespace %s is missing, by which the API server selects namespaces", optin.Label, namespace.Name)
		}
	}
	return not
}

// unmet returns a requirement of a selector that labels do not meet, or "".
func unmet(selector *metav1.LabelSelector, of labels.Set) string {
	if selector == nil { // the API server sets one that selects all
		return ""
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return err.Error()
	}
	requirements, _ := parsed.Requirements()
	for _, r := range requirements {
		if !r.Matches(of) {
			return r.String()
		}
	}
	return ""
}

// Reviews reports whether the rules of an entry match updates of a resource, or of any if it is empty, in or outside namespaces. The
// entry for namespaces only labels them. Versions do not matter: with matchPolicy Equivalent, a rule for one version matches the others.
func Reviews(entry *registration.MutatingWebhook, resource schema.GroupResource, namespaced bool) bool {
	scope := map[bool]registration.ScopeType{true: registration.NamespacedScope, false: registration.ClusterScope}[namespaced]
	matches := func(rule registration.RuleWithOperations) bool {
		isInScope := rule.Scope == nil || *rule.Scope == registration.AllScopes || *rule.Scope == scope
		return isInScope && (resource.Empty() || names(rule.Operations, registration.OperationAll, registration.Update) &&
			names(rule.APIGroups, "*", resource.Group) && names(rule.Resources, "*", "*/*", resource.Resource, resource.Resource+"/*"))
	}
	return entry.Name != NamespacesEntry && slices.ContainsFunc(entry.Rules, matches)
}

// names reports whether a list contains one of the values.
func names[T comparable](list []T, values ...T) bool {
	return slices.ContainsFunc(list, func(name T) bool { return slices.Contains(values, name) })
}

// asked answers from dry runs, for users who cannot read the configuration or the namespace.
func (in *Installation) asked(ctx context.Context, a Answer, o Object) Answer {
	if o.Namespace == "" {
		return a.but(Unknown, NotKnown, "whether the API server calls handoff for objects outside namespaces is unknown; "+
			"ask for permission to %s", ReadPermission)
	}
	_, labeled := o.Labels[optin.Label]
	reply, err := in.Ask(ctx, o.Namespace, labeled)
	if reply.Answered && a.Set == Unknown { // the webhook states the mode of the namespace in its answer to an object with the label
		if reply, err = in.Ask(ctx, o.Namespace, true); reply.Mode != "" {
			a.Set, a.Mode = reply.Mode, reply.Mode
		}
	}
	switch {
	case in.OfFiles():
		return a.but(Unknown, NotKnown, "the mode of handoff in namespace %s is unknown; add the namespaces to the files: "+
			"kubectl get namespaces -o yaml", o.Namespace)
	case Refused(err):
		return a.but(optin.Off, NoAnswer, refused)
	case err == nil && !reply.Answered:
		return a.but(optin.Off, NotCalled, "the API server does not call handoff in namespace %s, or gets no answer", o.Namespace)
	case err != nil || a.Set == Unknown:
		return a.but(Unknown, NotKnown, "whether the API server calls handoff in namespace %s is unknown; "+
			"ask for permission to get the namespace and to %s, or to create deployments.apps in it, for a dry run", o.Namespace, ReadPermission)
	}
	return a
}

// IsStale reports whether the API server selects namespaces by label, and that of a namespace does not follow its annotation. Without
// the configuration, it does if handoff does not act.
func (in *Installation) IsStale(namespace *corev1.Namespace, a Answer) bool {
	follows := optin.Follows(namespace.Annotations, namespace.Labels)
	return !follows && a.Reason != Excluded && (in.FollowsLabel() || in.Unread != nil && !a.On())
}

// Selectable reports whether an object outside namespaces can opt in, by its label. Without an installation, it can if it is of a kind
// that the manifests list.
func (in *Installation) Selectable(kind schema.GroupVersionKind) bool {
	if in.Missing() || in.Unread != nil {
		in, _ = InFiles()
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return slices.ContainsFunc(in.Entries(), func(entry *registration.MutatingWebhook) bool {
		return Reviews(entry, resource.GroupResource(), false)
	})
}
