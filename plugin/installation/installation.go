// Package installation reports whether the API server calls handoff for an object, in which mode, and with which configuration. All
// commands of the plugin that make a statement about that ask this package.
//
// It reads the MutatingWebhookConfigurations, the labels and annotations of namespaces, and the Deployment with its configuration.
// Users who cannot read these learn the same from dry runs, which the webhook answers.
package installation

import (
	"context"
	"slices"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/plugin/source"
)

const (
	// entrySuffix ends the names of the webhook's entries. The name of the configuration can differ.
	entrySuffix = ".ownership-handoff.io"
	// MainEntry is the entry that reviews the writes in namespaces that have opted in.
	MainEntry = "webhook" + entrySuffix
	// NamespacesEntry is the entry that makes the label of namespaces follow their annotation.
	NamespacesEntry = "namespaces" + entrySuffix
	// ReadPermission is the permission to read which entries there are.
	ReadPermission = "list mutatingwebhookconfigurations.admissionregistration.k8s.io"
)

// Installation is how handoff is installed in a cluster, as far as the user can know it. It requests each thing once.
type Installation struct {
	// Configurations are those that call handoff.
	Configurations []registration.MutatingWebhookConfiguration
	// Unread is the error of reading them, nil if they are known.
	Unread error

	config    *rest.Config      // nil for files
	objects   dynamic.Interface // likewise
	read      map[request]response
	answered  bool   // whether a dry run was answered
	confirmed string // the namespace in which Effect makes its dry run
}

// Of reads the installation of a cluster. It returns an error only if the API server cannot be reached.
func Of(ctx context.Context, c *rest.Config) (*Installation, error) {
	objects, err := source.Dynamic(c)
	if err != nil {
		return nil, err
	}
	in := &Installation{config: c, objects: objects, read: map[request]response{}}
	resource := registration.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	all, err := List[registration.MutatingWebhookConfiguration](ctx, in, resource, "", "")
	if apierrors.IsForbidden(err) { // a role can be limited to names
		for _, name := range in.readable(ctx) {
			one, getErr := Get[registration.MutatingWebhookConfiguration](ctx, in, resource, "", name)
			if getErr == nil && len(EntriesOf(*one)) > 0 {
				all, err = append(all, *one), nil
			}
		}
	}
	if err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && ctx.Err() == nil {
		return nil, err
	}
	callsOthers := func(c registration.MutatingWebhookConfiguration) bool { return len(EntriesOf(c)) == 0 }
	in.Configurations, in.Unread = slices.DeleteFunc(all, callsOthers), err
	return in, nil
}

// readable returns the names of the configurations that the user's roles name, because kustomize can rename that of handoff.
func (in *Installation) readable(ctx context.Context) []string {
	names := sets.New("handoff") // as in the manifests
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceDefault}}
	if client, err := authorizationclient.NewForConfig(in.config); err == nil {
		review, _ = client.SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{}) // without rules if it fails
	}
	for _, rule := range review.Status.ResourceRules {
		if slices.Contains(rule.Resources, "mutatingwebhookconfigurations") && slices.Contains(rule.Verbs, "get") {
			names.Insert(rule.ResourceNames...)
		}
	}
	return sets.List(names)
}

// InFiles returns the installation for objects in files: that of the manifests. Namespaces are added with AddNamespace.
func InFiles() (*Installation, error) {
	shipped, err := manifests.Objects[registration.MutatingWebhookConfiguration](manifests.Base, "MutatingWebhookConfiguration")
	return &Installation{Configurations: shipped, read: map[request]response{}}, err
}

// OfFiles reports whether the objects are in files.
func (in *Installation) OfFiles() bool { return in.config == nil }

// Missing reports whether handoff is not installed.
func (in *Installation) Missing() bool { return in.Unread == nil && len(in.Configurations) == 0 }

// Entries returns the entries that call handoff.
func (in *Installation) Entries() []*registration.MutatingWebhook {
	return EntriesOf(in.Configurations...)
}

// EntriesOf returns the entries of configurations that call handoff.
func EntriesOf(configurations ...registration.MutatingWebhookConfiguration) (all []*registration.MutatingWebhook) {
	for _, configuration := range configurations {
		for i := range configuration.Webhooks {
			if strings.HasSuffix(configuration.Webhooks[i].Name, entrySuffix) {
				all = append(all, &configuration.Webhooks[i])
			}
		}
	}
	return all
}

// Find returns the entry with a name, or nil.
func Find(entries []*registration.MutatingWebhook, name string) *registration.MutatingWebhook {
	for _, entry := range entries {
		if entry.Name == name {
			return entry
		}
	}
	return nil
}

// FollowsLabel reports whether the API server selects namespaces by a label that follows their annotation.
func (in *Installation) FollowsLabel() bool {
	entry := Find(in.Entries(), MainEntry)
	return entry != nil && entry.NamespaceSelector != nil && slices.ContainsFunc(entry.NamespaceSelector.MatchExpressions,
		func(r metav1.LabelSelectorRequirement) bool { return r.Key == optin.Label })
}
