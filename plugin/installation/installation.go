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

	registration "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
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
	// entrySuffix ends the names of the webhook's entries. The name of the configuration can differ.
	entrySuffix = ".ownership-handoff.io"
	// MainEntry is the entry that reviews the writes in namespaces that have opted in.
	MainEntry = "webhook" + entrySuffix
	// NamespacesEntry is the entry that makes the label of namespaces follow their annotation.
	NamespacesEntry = "namespaces" + entrySuffix
	// configurationName is the name of the configuration in the manifests.
	configurationName = "handoff"
	// ReadPermission is the permission to read which entries there are.
	ReadPermission = "list mutatingwebhookconfigurations.admissionregistration.k8s.io"
)

// Installation is how handoff is installed in a cluster, as far as the user can know it. It requests each thing once.
type Installation struct {
	// Configurations are those that call handoff.
	Configurations []registration.MutatingWebhookConfiguration
	// Unread is the error of reading them, nil if they are known.
	Unread error

	config     *rest.Config      // nil for files
	objects    dynamic.Interface // likewise
	namespaces map[string]result[corev1.Namespace]
	replies    map[question]Reply
	confirmed  string // the namespace in which Effect makes its dry run
	service    result[corev1.Service]
	deployment result[appsv1.Deployment]
}

// result is an object that has been read, or why it could not be read.
type result[T any] struct {
	object *T
	err    error
}

func (r result[T]) known() bool { return r.object != nil || r.err != nil }

// Of reads the installation of a cluster. It returns an error only if the API server cannot be reached.
func Of(ctx context.Context, c *rest.Config) (*Installation, error) {
	objects, err := dynamic.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	in := &Installation{config: c, objects: objects}
	resource := registration.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	all, err := List[registration.MutatingWebhookConfiguration](ctx, in, resource, "", "")
	if apierrors.IsForbidden(err) { // a role can be limited to the name
		one, getErr := Get[registration.MutatingWebhookConfiguration](ctx, in, resource, "", configurationName)
		if getErr == nil {
			all, err = []registration.MutatingWebhookConfiguration{*one}, nil
		}
	}
	if err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && ctx.Err() == nil {
		return nil, err
	}
	in.Unread = err
	return in.with(all), nil
}

// InFiles returns the installation for objects in files: that of the manifests. Namespaces are added with AddNamespace.
func InFiles() (*Installation, error) {
	shipped, err := manifests.Objects[registration.MutatingWebhookConfiguration](manifests.Base, "MutatingWebhookConfiguration")
	return (&Installation{}).with(shipped), err
}

// with adds the configurations that call handoff.
func (in *Installation) with(all []registration.MutatingWebhookConfiguration) *Installation {
	in.namespaces, in.replies = map[string]result[corev1.Namespace]{}, map[question]Reply{}
	callsOthers := func(c registration.MutatingWebhookConfiguration) bool { return len(EntriesOf(c)) == 0 }
	in.Configurations = slices.DeleteFunc(all, callsOthers)
	return in
}

// SetNamespace sets a namespace, as it is after a write.
func (in *Installation) SetNamespace(o *unstructured.Unstructured) error {
	to, err := converted[corev1.Namespace](o.Object)
	in.namespaces[o.GetName()] = result[corev1.Namespace]{object: to}
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
	in.namespaces[name] = result[corev1.Namespace]{object: o}
}

// Namespace reads a namespace.
func (in *Installation) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	read := in.namespaces[name]
	switch {
	case read.known():
	case in.OfFiles():
		read.err = errInFiles
	default:
		read.object, read.err = Get[corev1.Namespace](ctx, in, corev1.SchemeGroupVersion.WithResource("namespaces"), "", name)
		in.namespaces[name] = read
	}
	return read.object, read.err
}

// Namespaces reads all namespaces that a selector selects.
func (in *Installation) Namespaces(ctx context.Context, selector string) ([]corev1.Namespace, error) {
	resource := corev1.SchemeGroupVersion.WithResource("namespaces")
	all, err := List[corev1.Namespace](ctx, in, resource, "", selector)
	for i := range all {
		in.namespaces[all[i].Name] = result[corev1.Namespace]{object: &all[i]}
	}
	return all, err
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
func EntriesOf(
	configurations ...registration.MutatingWebhookConfiguration,
) (all []*registration.MutatingWebhook) {
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

// Main returns the entry that reviews the writes in namespaces that have opted in, or nil.
func (in *Installation) Main() *registration.MutatingWebhook {
	return Find(in.Entries(), MainEntry)
}

// ReviewsObjects reports whether an entry reviews objects in namespaces, as opposed to the namespaces.
func ReviewsObjects(entry *registration.MutatingWebhook) bool {
	return entry.Name != NamespacesEntry
}

// FollowsLabel reports whether the API server selects namespaces by a label that follows their annotation.
func (in *Installation) FollowsLabel() bool {
	entry := in.Main()
	return entry != nil && entry.NamespaceSelector != nil && slices.ContainsFunc(entry.NamespaceSelector.MatchExpressions,
		func(r metav1.LabelSelectorRequirement) bool { return r.Key == ownership.ModeLabel })
}

// Get reads an object of the cluster into a type of Kubernetes.
func Get[T any](ctx context.Context, in *Installation, resource schema.GroupVersionResource, namespace, name string) (*T, error) {
	o, err := in.objects.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
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

// List reads the objects of the cluster that a label selector selects into a type of Kubernetes, in pages.
func List[T any](
	ctx context.Context, in *Installation, resource schema.GroupVersionResource, namespace, selector string,
) (items []T, err error) {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return in.objects.Resource(resource).Namespace(namespace).List(ctx, o)
	})
	err = pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector}, func(item runtime.Object) error {
		read, err := converted[T](item.(*unstructured.Unstructured).Object) //nolint:forcetypeassert // of the dynamic client
		if err == nil {
			items = append(items, *read)
		}
		return err
	})
	return items, err
}
