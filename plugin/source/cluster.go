package source

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/ownership-handoff/handoff/ownership"
)

// readCluster reads the objects of a query from the cluster. If some of them can be read, errors about the others are gaps.
func (r Reader) readCluster(q Query) ([]*unstructured.Unstructured, facts, []string, error) {
	namespace, _, err := r.Cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, nil, nil, Advise(err, "")
	}
	infos, err := resource.NewBuilder(r.Cluster).Unstructured().ContinueOnError().
		NamespaceParam(namespace).DefaultNamespace().AllNamespaces(q.AllNamespaces).
		LabelSelectorParam(q.Selector).ResourceTypeOrNameArgs(true, q.Objects...).
		RequestChunksOf(500).Flatten().Do().Infos()
	if err != nil && len(infos) == 0 {
		return nil, nil, nil, Advise(err, namespace)
	}
	var gaps []string
	if err != nil {
		gaps = gapsOf(err, namespace)
	}
	known, err := newClusterFacts(r.Cluster)
	if err != nil {
		return nil, nil, nil, Advise(err, namespace)
	}
	known.everywhere = q.AllNamespaces
	objects, err := unstructuredOf(infos)
	return objects, known, gaps, err
}

// gapsOf returns the gaps of an error of a request that has succeeded in part.
func gapsOf(err error, namespace string) []string {
	errs := []error{err}
	if all, ok := err.(utilerrors.Aggregate); ok { //nolint:errorlint // only the outermost error aggregates the requests
		errs = all.Errors()
	}
	gaps := make([]string, len(errs))
	for i, err := range errs {
		gaps[i] = Advise(err, namespace).Error()
	}
	return gaps
}

// clusterFacts are the facts of a cluster. It requests those of each namespace and each kind once.
type clusterFacts struct {
	objects   dynamic.Interface
	discovery discovery.CachedDiscoveryInterface
	hpas      map[string]hpaList // by namespace
	// everywhere lists the autoscalers of all namespaces in one request. Users without that permission list them by namespace.
	everywhere, requested bool
	scales                map[schema.GroupVersionKind]scaleField
	getter                genericclioptions.RESTClientGetter
	served                *servedKinds                // nil until it is needed
	scalersBy             map[string]namespaceScalers // by namespace; "" is all
}

type hpaList struct {
	items []autoscalingv2.HorizontalPodAutoscaler
	gap   string
}

func newClusterFacts(getter genericclioptions.RESTClientGetter) (*clusterFacts, error) {
	restConfig, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	f := &clusterFacts{
		hpas: map[string]hpaList{}, scales: map[schema.GroupVersionKind]scaleField{},
		getter: getter, scalersBy: map[string]namespaceScalers{},
	}
	if f.objects, err = dynamic.NewForConfig(restConfig); err != nil {
		return nil, err
	}
	f.discovery, err = getter.ToDiscoveryClient()
	return f, err
}

// unavailable reports whether the kinds of a group are unknown, because its aggregated API server is down.
func (f *clusterFacts) unavailable(group string) bool {
	if f.served == nil {
		served, err := newServedKinds(f.getter)
		if err != nil {
			return false
		}
		f.served = &served
	}
	return f.served.unknown[group]
}

func (f *clusterFacts) autoscalers(ctx context.Context, s *Subject) ([]autoscalingv2.HorizontalPodAutoscaler, error) {
	list, err := f.hpasOf(ctx, s.Namespace)
	if err != nil {
		return nil, err
	}
	if list.gap != "" {
		s.gap("%s", list.gap)
	}
	return list.items, nil
}

func (f *clusterFacts) namespaceMode(ctx context.Context, namespace string) (ownership.Mode, error) {
	if namespace == "" {
		return ownership.ModeOff, nil
	}
	namespaces := f.objects.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	o, err := namespaces.Get(ctx, namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return UnknownMode, nil
	case apierrors.IsNotFound(err):
		return ownership.ModeOff, nil
	case err != nil:
		return UnknownMode, Advise(err, "")
	}
	return modeOf(o), nil
}

// UnknownMode is the mode of a namespace that could not be read.
const UnknownMode ownership.Mode = "unknown"

// modeOf returns the mode in a namespace's annotation.
func modeOf(namespace *unstructured.Unstructured) ownership.Mode {
	text, annotated := namespace.GetAnnotations()[ownership.ModeAnnotation]
	mode, _ := ownership.ModeOf(text, annotated)
	return mode
}

// hpasOf returns the autoscalers of a namespace.
func (f *clusterFacts) hpasOf(ctx context.Context, namespace string) (list hpaList, err error) {
	if f.everywhere && !f.requested {
		f.requested = true
		if list, err = f.listHPAs(ctx, metav1.NamespaceAll); err != nil {
			return list, err
		}
		f.everywhere = list.gap == ""
		for _, hpa := range list.items {
			near := f.hpas[hpa.Namespace]
			near.items = append(near.items, hpa)
			f.hpas[hpa.Namespace] = near
		}
	}
	list, known := f.hpas[namespace]
	if known || f.everywhere {
		return list, nil
	}
	if list, err = f.listHPAs(ctx, namespace); err != nil {
		return list, err
	}
	f.hpas[namespace] = list
	return list, nil
}

func (f *clusterFacts) listHPAs(ctx context.Context, namespace string) (list hpaList, err error) {
	resources := autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	found, err := f.objects.Resource(resources).Namespace(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		list.gap = fmt.Sprintf("unknown whether a HorizontalPodAutoscaler targets it; "+
			"ask for permission to list horizontalpodautoscalers.autoscaling in namespace %s", namespace)
		return list, nil
	case apierrors.IsNotFound(err): // the API server does not serve them, so there are none
		return list, nil
	case err != nil:
		return list, Advise(err, namespace)
	}
	for i := range found.Items {
		hpa, err := hpaOf(&found.Items[i])
		if err != nil {
			return list, err
		}
		list.items = append(list.items, hpa)
	}
	return list, nil
}
