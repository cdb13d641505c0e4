// Package installation reports whether the API server calls handoff for an object, in which mode, and with which configuration. All
// commands of the plugin that make a statement about that ask this package.
//
// It reads the MutatingWebhookConfigurations, the labels and annotations of namespaces, and the Deployment with its configuration.
// Users who cannot read these learn the same from dry runs, which the webhook answers.
package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/ownership"
)

const (
	// webhookSuffix ends the names of the webhook's entries. The name of the configuration can differ.
	webhookSuffix = ".ownership-handoff.io"
	// MainEntry is the entry that reviews the writes in namespaces that have opted in.
	MainEntry = "webhook" + webhookSuffix
	// NamespacesEntry is the entry that makes the label of namespaces follow their annotation.
	NamespacesEntry = "namespaces" + webhookSuffix
	// configurationName is the name of the configuration in the manifests.
	configurationName = "handoff"
	// ReadPermission is the permission to read which entries there are.
	ReadPermission = "list mutatingwebhookconfigurations.admissionregistration.k8s.io"
)

// Installation is how handoff is installed in a cluster, as far as the user can know it. It requests each thing once.
type Installation struct {
	// Configurations are those that call handoff.
	Configurations []admissionregistrationv1.MutatingWebhookConfiguration
	// Unread is the error of reading them, nil if they are known.
	Unread error

	config     *rest.Config
	objects    dynamic.Interface
	namespaces map[string]namespace
	replies    map[question]Reply
	workload   workload
}

type namespace struct {
	object *corev1.Namespace
	err    error
}

// Of reads the installation of a cluster. It returns an error only if the API server cannot be reached.
func Of(ctx context.Context, c *rest.Config) (*Installation, error) {
	in := &Installation{config: c, namespaces: map[string]namespace{}, replies: map[question]Reply{}}
	var err error
	if in.objects, err = dynamic.NewForConfig(c); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	resource := admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	all, err := List[admissionregistrationv1.MutatingWebhookConfiguration](ctx, in.objects, resource, "", metav1.ListOptions{})
	if apierrors.IsForbidden(err) { // a role can be limited to the name
		var one *admissionregistrationv1.MutatingWebhookConfiguration
		one, getErr := Get[admissionregistrationv1.MutatingWebhookConfiguration](ctx, in.objects, resource, "", configurationName)
		if getErr == nil {
			all, err = []admissionregistrationv1.MutatingWebhookConfiguration{*one}, nil
		}
	}
	if err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && ctx.Err() == nil {
		return nil, err
	}
	in.Unread = err
	in.keep(all)
	return in, nil
}

// InFiles returns the installation for objects in files: that of the manifests. Namespaces are added with AddNamespace.
func InFiles() (*Installation, error) {
	in := &Installation{namespaces: map[string]namespace{}, replies: map[question]Reply{}}
	shipped, err := manifests.Objects[admissionregistrationv1.MutatingWebhookConfiguration](
		manifests.Base, "MutatingWebhookConfiguration")
	in.keep(shipped)
	return in, err
}

func (in *Installation) keep(all []admissionregistrationv1.MutatingWebhookConfiguration) {
	for i := range all {
		if len(entries(&all[i])) > 0 {
			in.Configurations = append(in.Configurations, all[i])
		}
	}
}

// SetNamespace sets a namespace, as it is after a write.
func (in *Installation) SetNamespace(o *unstructured.Unstructured) error {
	to, err := converted[corev1.Namespace](o.Object)
	in.namespaces[o.GetName()] = namespace{object: to}
	return err
}

// AddNamespace adds a namespace of files. Its label follows its annotation, as the webhook sees to.
func (in *Installation) AddNamespace(name string, mode ownership.Mode) {
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{ownership.ModeAnnotation: string(mode)}, Labels: map[string]string{},
	}}
	if label, labeled := ownership.NamespaceLabel(string(mode), true); labeled {
		o.Labels[ownership.ModeLabel] = label
	}
	in.namespaces[name] = namespace{object: o}
}

// Namespace reads a namespace.
func (in *Installation) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	known, ok := in.namespaces[name]
	if !ok && in.objects != nil {
		known.object, known.err = Get[corev1.Namespace](ctx, in.objects, corev1.SchemeGroupVersion.WithResource("namespaces"), "", name)
		in.namespaces[name] = known
	} else if !ok {
		known.err = apierrors.NewForbidden(corev1.Resource("namespaces"), name, nil)
	}
	return known.object, known.err
}

// Namespaces reads all namespaces that a selector selects.
func (in *Installation) Namespaces(ctx context.Context, selector string) ([]corev1.Namespace, error) {
	resource := corev1.SchemeGroupVersion.WithResource("namespaces")
	all, err := List[corev1.Namespace](ctx, in.objects, resource, "", metav1.ListOptions{LabelSelector: selector})
	for i := range all {
		in.namespaces[all[i].Name] = namespace{object: &all[i]}
	}
	return all, err
}

// OfFiles reports whether the objects are in files.
func (in *Installation) OfFiles() bool { return in.config == nil }

// Missing reports whether handoff is not installed.
func (in *Installation) Missing() bool { return in.Unread == nil && len(in.Configurations) == 0 }

// Entries returns the entries that call handoff.
func (in *Installation) Entries() (all []*admissionregistrationv1.MutatingWebhook) {
	for i := range in.Configurations {
		all = append(all, entries(&in.Configurations[i])...)
	}
	return all
}

func entries(of *admissionregistrationv1.MutatingWebhookConfiguration) (found []*admissionregistrationv1.MutatingWebhook) {
	for i := range of.Webhooks {
		if strings.HasSuffix(of.Webhooks[i].Name, webhookSuffix) {
			found = append(found, &of.Webhooks[i])
		}
	}
	return found
}

// Main returns the entry that reviews the writes in namespaces that have opted in, or nil.
func (in *Installation) Main() *admissionregistrationv1.MutatingWebhook {
	for _, entry := range in.Entries() {
		if entry.Name == MainEntry {
			return entry
		}
	}
	return nil
}

// ReviewsObjects reports whether an entry reviews objects in namespaces, as opposed to the namespaces.
func ReviewsObjects(entry *admissionregistrationv1.MutatingWebhook) bool {
	return entry.Name != NamespacesEntry
}

// FollowsLabel reports whether the API server selects namespaces by a label that follows their annotation.
func (in *Installation) FollowsLabel() bool {
	entry := in.Main()
	return entry != nil && entry.NamespaceSelector != nil && slices.ContainsFunc(entry.NamespaceSelector.MatchExpressions,
		func(r metav1.LabelSelectorRequirement) bool { return r.Key == ownership.ModeLabel })
}

// Get reads an object into a type of Kubernetes.
func Get[T any](
	ctx context.Context, objects dynamic.Interface, resource schema.GroupVersionResource, namespace, name string,
) (*T, error) {
	o, err := objects.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return converted[T](o.Object)
}

func converted[T any](o map[string]any) (*T, error) {
	to := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, to); err != nil {
		return nil, fmt.Errorf("reading a %T: %w", *to, err)
	}
	return to, nil
}

// List reads objects into a type of Kubernetes, in pages.
func List[T any](
	ctx context.Context, objects dynamic.Interface, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions,
) (items []T, err error) {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return objects.Resource(resource).Namespace(namespace).List(ctx, o)
	})
	err = pages.EachListItem(ctx, o, func(item runtime.Object) error {
		read, err := converted[T](item.(*unstructured.Unstructured).Object) //nolint:forcetypeassert // of the dynamic client
		if err == nil {
			items = append(items, *read)
		}
		return err
	})
	return items, err
}
