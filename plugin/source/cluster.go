package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
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

	"github.com/ownership-handoff/handoff/internal/scale"
)

// cluster is the origin of objects in a cluster.
type cluster struct {
	getter  genericclioptions.RESTClientGetter
	objects dynamic.Interface
	served  *servedKinds // nil until it is needed
}

func newCluster(getter genericclioptions.RESTClientGetter) (*cluster, error) {
	restConfig, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	restConfig = rest.CopyConfig(restConfig)
	restConfig.WarningHandlerWithContext = warningHandler{restConfig.WarningHandler}
	objects, err := dynamic.NewForConfig(restConfig)
	return &cluster{getter: getter, objects: objects}, err
}

// kinds returns the kinds that the API server serves.
func (c *cluster) kinds() (*servedKinds, error) {
	if c.served == nil {
		served, err := newServedKinds(c.getter)
		if err != nil {
			return nil, Advise(err, "")
		}
		c.served = &served
	}
	return c.served, nil
}

// chosen implements origin.
func (c *cluster) chosen(r Reader, names []string, namespace string) (objects []*unstructured.Unstructured, gaps []string, err error) {
	infos, err := resource.NewBuilder(c.getter).Unstructured().ContinueOnError().
		NamespaceParam(namespace).DefaultNamespace().AllNamespaces(r.AllNamespaces).
		LabelSelectorParam(r.Selector).ResourceTypeOrNameArgs(true, names...).
		RequestChunksOf(500).Flatten().Do().Infos()
	if err != nil && len(infos) == 0 {
		return nil, nil, Advise(err, namespace)
	}
	if err != nil {
		errs := []error{err}
		if all, ok := err.(utilerrors.Aggregate); ok { //nolint:errorlint // only the outermost error aggregates the requests
			errs = all.Errors()
		}
		for _, err := range errs {
			gaps = append(gaps, Advise(err, namespace).Error())
		}
	}
	objects, err = unstructuredOf(infos)
	return objects, gaps, err
}

// list implements origin. It fetches one page ahead.
func (c *cluster) list(
	ctx context.Context, kind schema.GroupKind, namespace string, selector labels.Selector, visit visitObject,
) (access, error) {
	kinds, err := c.kinds()
	if err != nil {
		return access{}, err
	}
	served, ok := kinds.of(kind)
	switch {
	case !ok && kinds.unknown[kind.Group]:
		return access{remedy: "its API server does not respond: see kubectl get apiservices"}, nil
	case !ok:
		return access{complete: true}, nil
	}
	client, left := c.objects.Resource(served.resource).Namespace(served.in(namespace)), int64(-1)
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page, err := listCurrent(ctx, client, options)
		if err == nil && options.Continue == "" {
			left = itemsOf(page)
		}
		return page, err
	})
	pages.PageBufferSize = 0
	err = pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector.String()}, func(o runtime.Object) error {
		if left > 0 { // known
			left--
		}
		item := o.(*unstructured.Unstructured) //nolint:forcetypeassert // of the dynamic client
		item.SetGroupVersionKind(served.gvk)   // which lists need not contain
		return visit(item, left)
	})
	switch {
	case apierrors.IsForbidden(err):
		return access{remedy: fmt.Sprintf("ask for permission to list %s %s", served, where(namespace))}, nil
	case err != nil && !apierrors.IsNotFound(err): // the kind was deleted a moment ago
		return access{}, Advise(err, namespace)
	}
	return access{complete: true}, nil
}

// listCurrent lists a page. If the resource version of the list has expired, it continues with the current one: the pages are then
// inconsistent, which is acceptable for an audit.
func listCurrent(
	ctx context.Context, client dynamic.ResourceInterface, options metav1.ListOptions,
) (*unstructured.UnstructuredList, error) {
	page, err := client.List(ctx, options)
	var status apierrors.APIStatus
	if apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
		options.Continue = status.Status().Continue
		return client.List(ctx, options)
	}
	return page, err
}

// itemsOf returns the number of items of a list, of which this is the first page, or -1 if it is unknown.
func itemsOf(first *unstructured.UnstructuredList) int64 {
	items := int64(len(first.Items))
	switch remaining := first.GetRemainingItemCount(); {
	case remaining != nil:
		return items + *remaining
	case first.GetContinue() != "": // with a selector
		return -1
	default:
		return items
	}
}

// where returns the namespace of a permission to ask for.
func where(namespace string) string {
	if namespace == "" {
		return "in all namespaces, or select one with -n"
	}
	return "in namespace " + namespace
}

// Client returns the client for an object in a cluster.
func Client(getter genericclioptions.RESTClientGetter, id Identity) (dynamic.ResourceInterface, error) {
	c, err := newCluster(getter)
	if err != nil {
		return nil, Advise(err, id.Namespace)
	}
	client, _, err := c.client(id, "")
	if err == nil && client == nil { // it was read a moment ago
		err = fmt.Errorf("%s: the API server no longer serves the kind %s", id, id.Kind.Kind)
	}
	return client, err
}

// client returns the client for an object, nil if the API server does not serve its kind.
func (c *cluster) client(id Identity, namespace string) (client dynamic.ResourceInterface, namespaced bool, err error) {
	mapper, err := c.getter.ToRESTMapper()
	if err != nil {
		return nil, false, Advise(err, namespace)
	}
	mapping, err := mapper.RESTMapping(id.Kind.GroupKind(), id.Kind.Version)
	switch {
	case meta.IsNoMatchError(err):
		if kinds, err := c.kinds(); err == nil && kinds.unknown[id.Kind.Group] {
			return nil, false, fmt.Errorf("unknown whether it exists, because the API server of the API group %s does not respond; "+
				"see kubectl get apiservices", id.Kind.Group)
		}
		return nil, false, nil
	case err != nil:
		return nil, false, Advise(err, namespace)
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return c.objects.Resource(mapping.Resource), false, nil
	default:
		return c.objects.Resource(mapping.Resource).Namespace(cmp.Or(id.Namespace, namespace)), true, nil
	}
}

// get implements origin.
func (c *cluster) get(ctx context.Context, id Identity, namespace string) (*unstructured.Unstructured, error) {
	client, _, err := c.client(id, namespace)
	if err != nil || client == nil {
		return nil, err
	}
	live, err := client.Get(ctx, id.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // no object and no error
	case err != nil:
		return nil, Subject{Kind: id.Kind, Namespace: id.Namespace}.Advise(err)
	}
	return live, nil
}

// scalable implements origin.
func (c *cluster) scalable(kind schema.GroupKind) (scales, known bool) {
	kinds, err := c.kinds()
	if err != nil {
		return false, false
	}
	served, ok := kinds.of(kind)
	return served.scales, ok || !kinds.unknown[kind.Group]
}

// definition implements origin. It reads a CustomResourceDefinition only if a version of the kind has a scale subresource: discovery
// shows that without any permission.
func (c *cluster) definition(
	ctx context.Context, kind schema.GroupKind,
) (crd *apiextensionsv1.CustomResourceDefinition, gap string, err error) {
	kinds, err := c.kinds()
	if err != nil {
		return nil, "", err
	}
	served, ok := kinds.of(kind)
	if !ok || !served.scales {
		return nil, "", nil
	}
	resources := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	found, err := c.objects.Resource(resources).Get(ctx, served.String(), metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("unknown which field an autoscaler sets; "+
			"ask for permission to get customresourcedefinitions.apiextensions.k8s.io %s", served), nil
	case apierrors.IsNotFound(err): // served by an aggregated API server, which does not publish the path
		return nil, "unknown which field an autoscaler sets: there is no CustomResourceDefinition", nil
	case err != nil:
		return nil, "", Advise(err, "")
	}
	crd, err = convert[apiextensionsv1.CustomResourceDefinition](found)
	return crd, "", err
}

// surveyed implements origin.
func (c *cluster) surveyed(types []string, _ []scale.Kind) (kinds []resourceKind, gaps []string, err error) {
	served, err := c.kinds()
	if err != nil {
		return nil, nil, err
	}
	for group := range served.unknown {
		gaps = append(gaps, fmt.Sprintf("unknown resources in API group %s, because its API server does not respond; "+
			"see kubectl get apiservices", group))
	}
	kinds, err = served.chosen(c.getter, types)
	if err != nil {
		return nil, nil, Advise(err, "")
	}
	return kinds, gaps, nil
}
