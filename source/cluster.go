package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/cluster"
)

// readCluster reads what the cluster has of a query. Where some of it can be read, the rest is gaps.
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
	around, err := newClusterFacts(r.Cluster)
	if err != nil {
		return nil, nil, nil, Advise(err, namespace)
	}
	objects, err := unstructuredOf(infos)
	return objects, around, gaps, err
}

// gapsOf are the sentences of an error that has left something to answer about.
func gapsOf(err error, namespace string) []string {
	errs := []error{err}
	if all, ok := err.(utilerrors.Aggregate); ok { //nolint:errorlint // only the outermost one is a list of what was tried
		errs = all.Errors()
	}
	gaps := make([]string, len(errs))
	for i, err := range errs {
		gaps[i] = Advise(err, namespace).Error()
	}
	return gaps
}

// clusterFacts asks a cluster, for each namespace and each kind once.
type clusterFacts struct {
	objects   dynamic.Interface
	discovery discovery.CachedDiscoveryInterface
	hpas      map[string]hpaList // by namespace
	scales    map[schema.GroupVersionKind]scaleField
}

type hpaList struct {
	items []autoscalingv2.HorizontalPodAutoscaler
	gap   string
}

type scaleField struct {
	path fieldpath.Path
	gap  string
}

func newClusterFacts(getter genericclioptions.RESTClientGetter) (*clusterFacts, error) {
	restConfig, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	f := &clusterFacts{hpas: map[string]hpaList{}, scales: map[schema.GroupVersionKind]scaleField{}}
	if f.objects, err = dynamic.NewForConfig(restConfig); err != nil {
		return nil, err
	}
	f.discovery, err = getter.ToDiscoveryClient()
	return f, err
}

func (f *clusterFacts) autoscaler(ctx context.Context, s *Subject) (string, error) {
	list, known := f.hpas[s.Namespace]
	if !known {
		var err error
		if list, err = f.listHPAs(ctx, s.Namespace); err != nil {
			return "", err
		}
		f.hpas[s.Namespace] = list
	}
	if list.gap != "" {
		s.gap("%s", list.gap)
	}
	autoscaler, _ := cluster.Targeting(list.items, s.Kind.Group, s.Kind.Kind, s.Name)
	return autoscaler, nil
}

func (f *clusterFacts) listHPAs(ctx context.Context, namespace string) (list hpaList, err error) {
	resources := autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	found, err := f.objects.Resource(resources).Namespace(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		list.gap = fmt.Sprintf("whether a HorizontalPodAutoscaler targets it is not known; "+
			"ask for the right to list horizontalpodautoscalers.autoscaling in namespace %s", namespace)
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

func hpaOf(o *unstructured.Unstructured) (hpa autoscalingv2.HorizontalPodAutoscaler, err error) {
	if err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &hpa); err != nil {
		err = fmt.Errorf("HorizontalPodAutoscaler %s: %w", o.GetName(), err)
	}
	return hpa, err
}

func crdOf(o *unstructured.Unstructured) (crd apiextensionsv1.CustomResourceDefinition, err error) {
	if err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &crd); err != nil {
		err = fmt.Errorf("CustomResourceDefinition %s: %w", o.GetName(), err)
	}
	return crd, err
}

func (f *clusterFacts) scalePath(ctx context.Context, s *Subject) (fieldpath.Path, error) {
	if path := cluster.BuiltinScale(s.Kind.Group, s.Kind.Kind); path != nil {
		return path, nil
	}
	field, known := f.scales[s.Kind]
	if !known {
		var err error
		if field, err = f.customScale(ctx, s.Kind); err != nil {
			return nil, err
		}
		f.scales[s.Kind] = field
	}
	if field.gap != "" {
		s.gap("%s", field.gap)
	}
	return field.path, nil
}

// customScale reads the definition of a kind, if the API server serves a scale subresource for it at all: to know that,
// nobody needs a right.
func (f *clusterFacts) customScale(ctx context.Context, kind schema.GroupVersionKind) (field scaleField, err error) {
	served, err := f.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		return field, Advise(err, "")
	}
	at := slices.IndexFunc(served.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == kind.Kind && !strings.Contains(r.Name, "/")
	})
	if at < 0 {
		return field, nil
	}
	name := served.APIResources[at].Name
	scales := func(r metav1.APIResource) bool { return r.Name == name+"/scale" }
	if !slices.ContainsFunc(served.APIResources, scales) {
		return field, nil
	}
	resources := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	found, err := f.objects.Resource(resources).Get(ctx, name+"."+kind.Group, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		field.gap = fmt.Sprintf("which field an autoscaler sets is not known; "+
			"ask for the right to get customresourcedefinitions.apiextensions.k8s.io %s.%s", name, kind.Group)
		return field, nil
	case apierrors.IsNotFound(err): // served by an API server of its own, which tells nobody
		field.gap = "which field an autoscaler sets is not known: no CustomResourceDefinition says so"
		return field, nil
	case err != nil:
		return field, Advise(err, "")
	}
	crd, err := crdOf(found)
	field.path = cluster.DeclaredScale([]apiextensionsv1.CustomResourceDefinition{crd}, kind.Group, kind.Version, kind.Kind)
	return field, err
}
