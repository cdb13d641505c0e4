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
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// cluster is the origin of objects in a cluster.
type cluster struct {
	getter   genericclioptions.RESTClientGetter
	objects  dynamic.Interface
	metadata metadata.Interface
	served   *servedKinds // nil until it is needed
}

func newCluster(getter genericclioptions.RESTClientGetter) (*cluster, error) {
	restConfig, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	restConfig = rest.CopyConfig(restConfig)
	restConfig.WarningHandlerWithContext = warningHandler{restConfig.WarningHandler}
	c := &cluster{getter: getter}
	if c.metadata, err = metadata.NewForConfig(restConfig); err == nil {
		c.objects, err = dynamic.NewForConfig(restConfig)
	}
	return c, err
}

func (c *cluster) kinds() (*servedKinds, error) {
	if c.served == nil {
		served, err := newServedKinds(c.getter)
		if err != nil {
			return nil, err
		}
		c.served = &served
	}
	return c.served, nil
}

// chosen implements origin.
func (c *cluster) chosen(q Query, namespace string) (objects []*unstructured.Unstructured, gaps []string, err error) {
	infos, err := resource.NewBuilder(c.getter).Unstructured().ContinueOnError().
		NamespaceParam(namespace).DefaultNamespace().AllNamespaces(q.AllNamespaces).
		LabelSelectorParam(q.Selector).ResourceTypeOrNameArgs(true, q.Objects...).
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

// list implements origin.
func (c *cluster) list(
	ctx context.Context, kind schema.GroupKind, namespace string, selector labels.Selector, visit visitObject,
) (access, error) {
	kinds, err := c.kinds()
	if err != nil {
		return access{}, Advise(err, "")
	}
	served, ok := kinds.of(kind)
	switch {
	case !ok && kinds.unknown[kind.Group]:
		return access{remedy: "its API server does not respond: see kubectl get apiservices"}, nil
	case !ok:
		return access{complete: true}, nil
	}
	client := c.objects.Resource(served.resource).Namespace(served.in(namespace))
	page := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	}
	err = eachItem(ctx, page, selector, func(o *unstructured.Unstructured, left int64) error {
		o.SetGroupVersionKind(served.gvk) // which lists need not contain
		return visit(o, left)
	})
	switch {
	case apierrors.IsForbidden(err):
		return access{remedy: fmt.Sprintf("ask for permission to list %s %s", served, where(namespace))}, nil
	case err != nil && !apierrors.IsNotFound(err): // the kind was deleted a moment ago
		return access{}, Advise(err, namespace)
	}
	return access{complete: true}, nil
}

// eachMetadata calls visit for the metadata of each object of a kind in a namespace, or in all if it is empty.
func (c *cluster) eachMetadata(
	ctx context.Context, kind resourceKind, namespace string, visit func(*metav1.PartialObjectMetadata),
) error {
	client := c.metadata.Resource(kind.resource).Namespace(kind.in(namespace))
	page := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	}
	return eachItem(ctx, page, labels.Everything(), func(o *metav1.PartialObjectMetadata, _ int64) error {
		visit(o)
		return nil
	})
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

// where returns the namespace of a permission to ask for.
func where(namespace string) string {
	if namespace == "" {
		return "in all namespaces, or select one with -n"
	}
	return "in namespace " + namespace
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

// scaleField implements origin. It reads the CustomResourceDefinition of a kind only if a version of it has a scale subresource:
// discovery shows that without any permission.
func (c *cluster) scaleField(ctx context.Context, kind schema.GroupVersionKind) (field scaleField, err error) {
	served, err := c.kinds()
	if err != nil {
		return field, Advise(err, "")
	}
	defined, ok := served.of(kind.GroupKind())
	if !ok || !defined.scales {
		return field, nil
	}
	resources := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	found, err := c.objects.Resource(resources).Get(ctx, defined.String(), metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		field.gap = fmt.Sprintf("unknown which field an autoscaler sets; "+
			"ask for permission to get customresourcedefinitions.apiextensions.k8s.io %s", defined)
		return field, nil
	case apierrors.IsNotFound(err): // served by an aggregated API server, which does not publish the path
		field.gap = "unknown which field an autoscaler sets: there is no CustomResourceDefinition"
		return field, nil
	case err != nil:
		return field, Advise(err, "")
	}
	crd, err := convert[apiextensionsv1.CustomResourceDefinition](found)
	if err != nil {
		return field, err
	}
	return scaleFieldOf([]apiextensionsv1.CustomResourceDefinition{*crd}, kind), nil
}

// surveyed implements origin.
func (c *cluster) surveyed(types []string, _ []scale.Kind) (kinds []resourceKind, gaps []string, err error) {
	served, err := c.kinds()
	if err == nil {
		kinds, err = served.chosen(c.getter, types)
	}
	if err != nil {
		return nil, nil, Advise(err, "")
	}
	for group := range served.unknown {
		gaps = append(gaps, fmt.Sprintf("unknown resources in API group %s, because its API server does not respond; "+
			"see kubectl get apiservices", group))
	}
	return kinds, gaps, nil
}

// settle implements origin. It lists the metadata of the targets' kind unless all of them have been read: the autoscalers were listed
// before them.
func (c *cluster) settle(ctx context.Context, open []*Autoscaler, namespace string, isWhole bool) (gap string, err error) {
	kinds, err := c.kinds()
	if err != nil {
		return "", err
	}
	kind, served := kinds.of(open[0].Target)
	if !served {
		return "", nil
	}
	exists := map[target]bool{}
	if !isWhole {
		err = c.eachMetadata(ctx, kind, namespace, func(o *metav1.PartialObjectMetadata) {
			exists[target{namespace: o.Namespace, name: o.Name}] = true
		})
	}
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("unknown whether the %s exist that %d autoscalers target; ask for permission to list them %s",
			kind, len(open), where(namespace)), nil
	case err != nil:
		return "", fmt.Errorf("%s: %w", kind, Advise(err, namespace))
	}
	for _, a := range open {
		a.Presence = Missing
		if exists[target{namespace: a.Namespace, name: a.TargetName}] {
			a.Presence = Present
		}
	}
	return "", nil
}

// eachItem calls visit for each object of a list, with the number of those that follow, or -1 if the API server does not return it.
// It fetches one page ahead.
func eachItem[T runtime.Object](
	ctx context.Context, list pager.ListPageFunc, selector labels.Selector, visit func(o T, left int64) error,
) error {
	left := int64(-1)
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page, err := listCurrent(ctx, list, options)
		if err == nil && options.Continue == "" {
			left = itemsOf(page)
		}
		return page, err
	})
	pages.PageBufferSize = 0
	return pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector.String()}, func(o runtime.Object) error {
		if left > 0 { // known
			left--
		}
		item, ok := o.(T)
		if !ok {
			return fmt.Errorf("a list contains a %T", o)
		}
		return visit(item, left)
	})
}

// listCurrent lists a page. If the resource version of the list has expired, it continues with the current one: the pages are then
// inconsistent, which is acceptable for an audit.
func listCurrent(ctx context.Context, list pager.ListPageFunc, options metav1.ListOptions) (runtime.Object, error) {
	page, err := list(ctx, options)
	var status apierrors.APIStatus
	if apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
		options.Continue = status.Status().Continue
		return list(ctx, options)
	}
	return page, err
}

// itemsOf returns the number of items of a list, of which this is the first page, or -1 if it is unknown.
func itemsOf(first runtime.Object) int64 {
	accessor, err := meta.ListAccessor(first)
	if err != nil {
		return -1
	}
	items := int64(meta.LenList(first))
	switch remaining := accessor.GetRemainingItemCount(); {
	case remaining != nil:
		return items + *remaining
	case accessor.GetContinue() != "": // with a selector
		return -1
	default:
		return items
	}
}
