package installation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Unknown is the mode of an object if nothing shows it.
const Unknown ownership.Mode = "unknown"

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
	if json.Unmarshal(o.At("metadata", "labels").Text(), &found.Labels) != nil { // labels that are not texts
		found.Labels = nil
	}
	return found
}

// Selectable reports whether an object outside namespaces can opt in, by its label. Without an installation, it can if it is of a kind
// that the manifests list.
func (in *Installation) Selectable(kind schema.GroupVersionKind) bool {
	if in.Missing() || in.Unread != nil {
		in, _ = InFiles()
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return slices.ContainsFunc(in.Entries(), func(entry *registration.MutatingWebhook) bool {
		return ReviewsObjects(entry, registration.ClusterScope) && Covers(entry, resource.GroupResource(), registration.ClusterScope)
	})
}

func (o Object) scope() registration.ScopeType {
	if o.Namespace == "" {
		return registration.ClusterScope
	}
	return registration.NamespacedScope
}

// namespaceOf returns the namespace of an object, one without a name for an object outside namespaces.
func (in *Installation) namespaceOf(ctx context.Context, o Object) (*corev1.Namespace, error) {
	if o.Namespace == "" {
		return &corev1.Namespace{}, nil
	}
	return in.Namespace(ctx, o.Namespace)
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
	Mode ownership.Mode `json:"active"`
	// Set is the mode in the object's label or its namespace's annotation, Unknown if the namespace cannot be read. Text is its
	// text if it is not a mode; it counts as warn.
	Set  ownership.Mode `json:"mode"`
	Text *string        `json:"-"`
	// Reason is why Mode differs from Set, and Why the same as a clause. Without a Reason, Why says what has not been confirmed.
	Reason Reason `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"`
}

// On reports whether handoff reviews the object.
func (a Answer) On() bool { return a.Mode == ownership.ModeEnforce || a.Mode == ownership.ModeWarn }

// Unanswered reports whether handoff did not answer a dry run.
func (a Answer) Unanswered() bool { return a.Reason == NotCalled || a.Reason == NoAnswer }

func (a Answer) but(mode ownership.Mode, reason Reason, format string, args ...any) Answer {
	a.Mode, a.Reason, a.Why = mode, reason, fmt.Sprintf(format, args...)
	return a
}

// Mode answers for an object.
func (in *Installation) Mode(ctx context.Context, o Object) Answer {
	if o.Namespace == "" && o.Resource == namespaces.GroupResource() { // its label selects the objects in it
		return Answer{Mode: ownership.ModeOff, Set: ownership.ModeOff}
	}
	a := Answer{Mode: Unknown, Set: Unknown}
	text, set := o.Labels[ownership.ModeLabel]
	namespace, unread := in.namespaceOf(ctx, o)
	if !set && unread == nil {
		text, set = namespace.Annotations[ownership.ModeAnnotation]
	}
	if set || unread == nil {
		mode, known := ownership.ModeOf(text, set)
		if a.Mode, a.Set = mode, mode; !known {
			a.Text = &text
		}
	}
	switch {
	case a.Set == ownership.ModeOff:
		return a
	case in.Missing():
		return a.but(ownership.ModeOff, NotInstalled, "the handoff webhook is not installed in this cluster")
	case in.Unread == nil && unread == nil:
		return in.selected(a, o, namespace)
	default:
		return in.asked(ctx, a, o)
	}
}

// Outside is an object outside namespaces, with its name as "clusterrole.rbac.authorization.k8s.io/view".
type Outside struct {
	Name string
	Is   Object
}

// Labeled returns the objects outside namespaces with the mode label, of the kinds that the entries review. unread says why some or all
// are missing.
func (in *Installation) Labeled(ctx context.Context) (all []Outside, unread []error) {
	if in.Unread != nil {
		return nil, []error{in.Unread}
	}
	for _, resource := range in.outside() {
		if strings.Contains(resource.String(), "*") {
			unread = append(unread, fmt.Errorf("the webhook configuration has a rule for any of %s", resource))
			continue
		}
		found, err := List[metav1.PartialObjectMetadata](ctx, in, resource, "", ownership.ModeLabel)
		if err != nil && !apierrors.IsNotFound(err) { // a kind that is not served has no objects
			unread = append(unread, err)
		}
		for _, o := range found {
			name := strings.ToLower(o.Kind) + "." + resource.Group + "/" + o.Name
			all = append(all, Outside{name, Object{Resource: resource.GroupResource(), Labels: o.Labels}})
		}
	}
	return all, unread
}

// outside returns the resources outside namespaces that the entries name.
func (in *Installation) outside() (all []schema.GroupVersionResource) {
	for _, entry := range in.Entries() {
		for _, rule := range entry.Rules {
			if entry.Name == NamespacesEntry || !isInScope(rule, registration.ClusterScope) {
				continue
			}
			for _, group := range rule.APIGroups {
				for _, name := range rule.Resources {
					all = append(all, schema.GroupVersionResource{Group: group, Version: rule.APIVersions[0], Resource: name})
				}
			}
		}
	}
	return all
}

// Effect is Mode, confirmed by one dry run for all objects: selectors and rules do not show whether a pod answers.
func (in *Installation) Effect(ctx context.Context, o Object) Answer {
	a := in.Mode(ctx, o)
	if _, unread := in.namespaceOf(ctx, o); !a.On() || in.Unread != nil || unread != nil { // or Mode has made dry runs
		return a
	}
	in.confirmed = cmp.Or(in.confirmed, o.Namespace, metav1.NamespaceDefault)
	reply, err := in.Ask(ctx, in.confirmed, true)
	switch {
	case reply.Answered || in.OfFiles():
		return a
	case Refused(err):
		return a.refused()
	case source.IsPermission(err):
		a.Why = "whether a pod of handoff answers is unknown; ask for permission to create deployments.apps in namespace " +
			in.confirmed + ", for a dry run"
		return a
	case err != nil:
		a.Why = fmt.Sprintf("whether a pod of handoff answers is unknown: no dry run is possible in namespace %s: %v", in.confirmed, err)
		return a
	default:
		return a.but(ownership.ModeOff, NoAnswer, "handoff has not answered a dry run in namespace %s; run kubectl handoff doctor", in.confirmed)
	}
}

func (a Answer) refused() Answer {
	return a.but(ownership.ModeOff, NoAnswer, "the API server refuses writes, because handoff does not answer and its failurePolicy is Fail")
}

// selected answers from the selectors and rules of the entries, as the API server decides. The reason is that of the first entry,
// which is the one for namespaces that have opted in.
func (in *Installation) selected(a Answer, o Object, namespace *corev1.Namespace) Answer {
	not := a.but(ownership.ModeOff, NotInstalled, "the webhook configuration has no entry that reviews objects")
	for _, entry := range slices.Backward(in.Entries()) {
		if !ReviewsObjects(entry, o.scope()) {
			continue
		}
		object := unmet(entry.ObjectSelector, o.Labels)
		excluded := Unmet(entry, namespace, labels.Set{ownership.ModeLabel: string(a.Set)})
		covered := o.Resource.Empty() || Covers(entry, o.Resource, o.scope())
		switch {
		case Unmet(entry, namespace, nil) == "" && object == "" && covered:
			return a
		case !covered:
			not = a.but(ownership.ModeOff, Excluded, "the rules of %s do not match %s", entry.Name, o.Resource)
		case excluded != "":
			not = a.but(ownership.ModeOff, Excluded, "the namespaceSelector of %s excludes namespace %s (%s)",
				entry.Name, namespace.Name, excluded)
		case object != "":
			not = a.but(ownership.ModeOff, Excluded, "the objectSelector of %s excludes it (%s)", entry.Name, object)
		default:
			not = a.but(ownership.ModeOff, LabelMissing,
				"the label %s of namespace %s is missing, by which the API server selects namespaces", ownership.ModeLabel, namespace.Name)
		}
	}
	return not
}

// asked answers from dry runs, for users who cannot read the configuration or the namespace.
func (in *Installation) asked(ctx context.Context, a Answer, o Object) Answer {
	_, labeled := o.Labels[ownership.ModeLabel]
	if o.Namespace == "" {
		return a.but(Unknown, NotKnown, "whether the API server calls handoff for objects outside namespaces is unknown; ask for permission to %s",
			ReadPermission)
	}
	reply, err := in.Ask(ctx, o.Namespace, labeled)
	const unread = "; ask for permission to get namespaces %[1]s"
	switch {
	case errors.Is(err, errInFiles):
		return a.but(Unknown, NotKnown, "the mode of handoff in namespace %s is unknown; add the namespaces to the files: "+
			"kubectl get namespaces -o yaml", o.Namespace)
	case Refused(err):
		return a.refused()
	case err != nil && in.Unread == nil:
		return a.but(Unknown, NotKnown, "the mode of handoff in namespace %s is unknown"+unread, o.Namespace)
	case err != nil:
		return a.but(Unknown, NotKnown, "whether the API server calls handoff in namespace %s is unknown; ask for permission to %s, "+
			"or to create deployments.apps in the namespace, for a dry run", o.Namespace, ReadPermission)
	case !reply.Answered:
		return a.but(ownership.ModeOff, NotCalled, "the API server does not call handoff in namespace %s, or gets no answer", o.Namespace)
	case a.Set != Unknown:
		return a
	}
	// The webhook states the mode of the namespace in its answer to an object with the label.
	if reply, _ = in.Ask(ctx, o.Namespace, true); reply.Mode == "" {
		return a.but(Unknown, NotKnown, "handoff is on in namespace %s, in an unknown mode"+unread, o.Namespace)
	}
	a.Set, a.Mode = reply.Mode, reply.Mode
	return a
}

// Unmet returns the requirement of an entry's namespaceSelector that a namespace with further labels does not meet, or "".
func Unmet(entry *registration.MutatingWebhook, namespace *corev1.Namespace, further labels.Set) string {
	if namespace.Name == "" { // the API server does not compare it with objects outside namespaces
		return ""
	}
	name := labels.Set{corev1.LabelMetadataName: namespace.Name}
	return unmet(entry.NamespaceSelector, labels.Merge(labels.Merge(namespace.Labels, name), further))
}

func unmet(selector *metav1.LabelSelector, of labels.Set) string {
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
	for _, r := range requirements {
		if !r.Matches(of) {
			return r.String()
		}
	}
	return ""
}

// isInScope reports whether a rule matches resources of a scope.
func isInScope(rule registration.RuleWithOperations, scope registration.ScopeType) bool {
	return rule.Scope == nil || *rule.Scope == registration.AllScopes || *rule.Scope == scope
}

// Covers reports whether an entry's rules match updates of a resource of a scope. Versions do not matter: with matchPolicy
// Equivalent, a rule for one version matches the others.
func Covers(entry *registration.MutatingWebhook, resource schema.GroupResource, scope registration.ScopeType) bool {
	contains := func(names []string, wanted ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(wanted, name) })
	}
	return slices.ContainsFunc(entry.Rules, func(rule registration.RuleWithOperations) bool {
		operation := slices.Contains(rule.Operations, registration.OperationAll) ||
			slices.Contains(rule.Operations, registration.Update)
		return operation && isInScope(rule, scope) && contains(rule.APIGroups, "*", resource.Group) &&
			contains(rule.Resources, "*", "*/*", resource.Resource, resource.Resource+"/*")
	})
}
