package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
)

// clusterOrigin is the origin of objects in a cluster.
type clusterOrigin struct {
	getter  genericclioptions.RESTClientGetter
	objects dynamic.Interface
	served  Served
}

func newCluster(getter genericclioptions.RESTClientGetter) (*clusterOrigin, error) {
	restConfig, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	c := &clusterOrigin{getter: getter}
	if c.objects, err = Dynamic(restConfig); err != nil {
		return nil, err
	}
	client, err := getter.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	client.Invalidate() // kubectl's cache can be six hours old, and so lack a new CustomResourceDefinition
	c.served, err = Discover(client)
	return c, err
}

func (c *clusterOrigin) kind(of schema.GroupKind) (served *Resource, gap string) {
	if served = c.served.Of(of); served == nil && c.served.Silent[of.Group] {
		gap = noResponse
	}
	return served, gap
}

func (c *clusterOrigin) chosen(r *Reader, names []string) (objects []*unstructured.Unstructured, gaps []string, err error) {
	infos, err := resource.NewBuilder(c.getter).Unstructured().ContinueOnError().
		NamespaceParam(r.namespace).DefaultNamespace().AllNamespaces(r.AllNamespaces).
		LabelSelectorParam(r.Selector).ResourceTypeOrNameArgs(true, names...).
		RequestChunksOf(500).Flatten().Do().Infos()
	switch {
	case err == nil:
	case len(infos) == 0:
		return nil, nil, Advise(err, r.namespace)
	default:
		for _, err := range utilerrors.Flatten(utilerrors.NewAggregate([]error{err})).Errors() {
			gaps = append(gaps, Advise(err, r.namespace).Error())
		}
	}
	return unstructuredOf(infos), gaps, nil
}

func (c *clusterOrigin) list(
	ctx context.Context, kind schema.GroupKind, namespace string, selector labels.Selector, visit visitObject,
) (complete bool, why string, err error) {
	served, gap := c.kind(kind)
	if served == nil {
		return gap == "", gap, nil
	}
	if !served.Namespaced {
		namespace = ""
	}
	err = List(ctx, c.objects.Resource(served.Name).Namespace(namespace), selector.String(), func(o *unstructured.Unstructured) error {
		o.SetGroupVersionKind(served.Kind) // which lists need not contain
		return visit(o)
	})
	switch {
	case apierrors.IsForbidden(err):
		where := "in namespace " + namespace
		if namespace == "" {
			where = "in all namespaces, or select one with -n"
		}
		return false, fmt.Sprintf("; ask for permission to list %s %s", served, where), nil
	case err != nil && !apierrors.IsNotFound(err): // the kind was deleted a moment ago
		return false, "", Advise(err, namespace)
	}
	return true, "", nil
}

// List calls visit for the objects that a label selector selects, page by page.
func List(ctx context.Context, client dynamic.ResourceInterface, selector string, visit func(*unstructured.Unstructured) error) error {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page, err := client.List(ctx, options)
		var expired apierrors.APIStatus
		if apierrors.IsResourceExpired(err) && errors.As(err, &expired) {
			// The current version: the pages are then inconsistent, which is acceptable for an audit.
			if options.Continue = expired.Status().Continue; options.Continue != "" {
				return client.List(ctx, options)
			}
		}
		return page, err
	})
	pages.PageBufferSize = 0
	return pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector}, func(o runtime.Object) error {
		return visit(o.(*unstructured.Unstructured)) //nolint:forcetypeassert // of the dynamic client
	})
}

// Convert returns an object as a type of Kubernetes.
func Convert[T any](o *unstructured.Unstructured) (*T, error) {
	to := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, to); err != nil {
		return nil, fmt.Errorf("%s: %w", IdentityOf(o), err)
	}
	return to, nil
}

// Client returns the client for an object in the cluster.
func (r *Reader) Client(id Identity) (dynamic.ResourceInterface, error) {
	client, _, err := r.cluster.client(id, r.namespace)
	return client, err
}

var errNotServed = errors.New("not served")

// client returns the client for an object. The error is errNotServed if the API server does not serve its kind.
func (c *clusterOrigin) client(id Identity, namespace string) (client dynamic.ResourceInterface, namespaced bool, err error) {
	served, gap := c.kind(id.Kind.GroupKind())
	switch {
	case gap != "":
		return nil, false, errors.New("unknown whether it exists" + gap)
	case served == nil || !slices.Contains(served.Versions, id.Kind.Version):
		return nil, false, wrapped{fmt.Sprintf("the API server does not serve kind %s in version %s; create its "+
			"CustomResourceDefinition first, or see kubectl api-resources", id.Kind.Kind, id.Kind.GroupVersion()), errNotServed}
	}
	resources := c.objects.Resource(served.Name.GroupResource().WithVersion(id.Kind.Version))
	if !served.Namespaced {
		return resources, false, nil
	}
	return resources.Namespace(cmp.Or(id.Namespace, namespace)), true, nil
}

func (c *clusterOrigin) get(ctx context.Context, id Identity, namespace string) (*unstructured.Unstructured, error) {
	client, _, err := c.client(id, namespace)
	var found *unstructured.Unstructured
	if err == nil {
		found, err = client.Get(ctx, id.Name, metav1.GetOptions{})
	}
	switch {
	case errors.Is(err, errNotServed), apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // no object and no error
	case err != nil:
		return nil, id.Advise(err)
	}
	return found, nil
}

// surveyed returns by default all kinds with a scale subresource.
func (c *clusterOrigin) surveyed(types []string) (kinds []*Resource, gaps []string, err error) {
	for group := range c.served.Silent {
		gaps = append(gaps, "unknown resources in API group "+group+noResponse)
	}
	for _, kind := range c.served.Resources {
		if kind.Scales && kind.Lists && (len(types) == 0 || slices.Contains(types, Scalable)) {
			kinds = append(kinds, kind)
		}
	}
	for _, word := range types {
		if word == Scalable {
			continue
		}
		mapping, err := resource.NewBuilder(c.getter).Unstructured().ResourceTypes(word).SelectAllParam(true).Do().ResourceMapping()
		if err != nil {
			return nil, nil, Advise(err, "")
		}
		switch kind := c.served.Of(mapping.GroupVersionKind.GroupKind()); {
		case kind == nil || !kind.Lists:
			return nil, nil, fmt.Errorf("%s cannot be listed; use other types", word)
		case !slices.Contains(kinds, kind):
			kinds = append(kinds, kind)
		}
	}
	return kinds, gaps, nil
}

// Dynamic returns a client whose requests give the warnings in their responses to WithWarnings.
func Dynamic(c *rest.Config) (dynamic.Interface, error) {
	c = rest.CopyConfig(c)
	c.WarningHandlerWithContext = warningHandler{c.WarningHandler}
	return dynamic.NewForConfig(c)
}

type hearKey struct{}

// WithWarnings returns a context whose requests call hear with the warnings in their responses. Those for which it returns false are shown
// to the user.
func WithWarnings(ctx context.Context, hear func(text string) bool) context.Context {
	return context.WithValue(ctx, hearKey{}, hear)
}

// warningHandler gives warnings to the context of a request, and shows the others to the user.
type warningHandler struct{ next rest.WarningHandler }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (h warningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	hear, ok := ctx.Value(hearKey{}).(func(string) bool)
	if (!ok || !hear(text)) && h.next != nil {
		h.next.HandleWarningHeader(code, agent, text)
	}
}
