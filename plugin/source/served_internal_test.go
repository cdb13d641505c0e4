package source

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientgotesting "k8s.io/client-go/testing"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// discovered returns what discovery says about a kind Widget: v1 has no scale subresource, and v2 may have one.
func discovered(t *testing.T, v2 ...metav1.APIResource) Served {
	t.Helper()
	widgets := metav1.APIResource{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: metav1.Verbs{"list"}}
	served, err := Discover(shuffled{&fake.FakeDiscovery{Fake: &clientgotesting.Fake{Resources: []*metav1.APIResourceList{
		{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{widgets}},
		{GroupVersion: "example.com/v2", APIResources: append([]metav1.APIResource{widgets}, v2...)},
		{GroupVersion: "apiextensions.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "customresourcedefinitions", Kind: "CustomResourceDefinition"}}},
	}}}})
	expect.NoError(t, err)
	return served
}

// shuffled is a discovery whose lists are not in the order of the groups and versions, as with aggregated discovery.
type shuffled struct{ *fake.FakeDiscovery }

// ServerGroupsAndResources implements discovery.DiscoveryInterface.
func (s shuffled) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	groups, lists, err := s.FakeDiscovery.ServerGroupsAndResources()
	slices.Reverse(lists)
	return groups, lists, err
}

func TestTheScaleFieldOfAVersionWithoutAScaleSubresource(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"}}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	crd.Spec.Group, crd.Spec.Names.Kind = "example.com", "Widget"
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Storage: true}, {
		Name: "v2", Subresources: &apiextensionsv1.CustomResourceSubresources{
			Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.size"},
		},
	}}
	scheme := runtime.NewScheme()
	expect.NoError(t, apiextensionsv1.AddToScheme(scheme))
	for sentence, c := range map[string]struct {
		served   Served
		want     string
		requests int
	}{
		"declared by another version": {discovered(t, metav1.APIResource{Name: "widgets/scale", Kind: "Scale"}), ".spec.size", 1},
		"declared by none":            {discovered(t), "", 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects := dynamicfake.NewSimpleDynamicClient(scheme, crd)
			kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
			cluster := &clusterOrigin{objects: objects, served: c.served}
			live := Reader{from: cluster, fields: map[schema.GroupVersionKind]scaleField{}}
			field, err := live.scaleField(t.Context(), kind)
			if err != nil || field.gap != "" {
				t.Fatalf("error %v, gap %q", err, field.gap)
			}
			expect.Equal(t, "path", c.want, field.path.String())
			expect.Equal(t, "requests, as reading the CustomResourceDefinition requires a permission", c.requests, len(objects.Actions()))
			served, _ := cluster.kind(kind.GroupKind())
			expect.Equal(t, "preferred version", kind, served.Kind)
		})
	}
}
