package cluster_test

import (
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
)

type mode struct {
	Mode  string
	Known bool
}

func modeOf(namespace string) mode {
	m, ok := suite.state.NamespaceMode(namespace)
	return mode{m, ok}
}

func TestNamespaceModeReturnsTheAnnotation(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		annotations map[string]string
		want        mode
	}{
		"enforce":                {map[string]string{optin.Annotation: "enforce"}, mode{"enforce", true}},
		"with other annotations": {map[string]string{optin.Annotation: "warn", "a": "b"}, mode{"warn", true}},
		"an unknown mode":        {map[string]string{optin.Annotation: "Enforce"}, mode{"Enforce", true}},
		"an empty annotation":    {map[string]string{optin.Annotation: ""}, mode{"", true}},
		"a large annotation, of which the beginning is cached": {
			map[string]string{optin.Annotation: strings.Repeat("x", 200<<10)}, mode{strings.Repeat("x", 128), true},
		},
	} {
		n := namespace(t, c.annotations)
		eventually(t, sentence, c.want, func() mode { return modeOf(n.Name) })
	}
	for sentence, name := range map[string]string{
		"a namespace without annotations":    namespace(t, nil).Name,
		"a namespace with other annotations": namespace(t, map[string]string{"ownership-handoff.io/other": "enforce"}).Name,
		"a missing namespace":                "nowhere",
		"no namespace":                       "",
	} {
		if got := modeOf(name); got.Known {
			t.Errorf("%s: want no mode, got %v", sentence, got)
		}
	}
}

// autoscale creates a HorizontalPodAutoscaler that targets an object.
func autoscale(t *testing.T, namespace, name, apiVersion, kind, target string) {
	t.Helper()
	create(t, autoscaler(namespace, name, apiVersion, kind, target))
}

func autoscaler(namespace, name, apiVersion, kind, target string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: apiVersion, Kind: kind, Name: target},
			MaxReplicas:    20,
		},
	}
}

func autoscalerOf(namespace, group, kind, name string) string {
	return suite.state.Scaler(namespace, group, kind, name).Name
}

func TestAutoscalerMatchesGroupKindAndNameOfTheTarget(t *testing.T) {
	t.Parallel()
	n := namespace(t, nil).Name
	autoscale(t, n, "web", "apps/v1", "Deployment", "web")
	autoscale(t, n, "old", "apps/v1beta2", "Deployment", "old")
	autoscale(t, n, "core", "v1", "ReplicationController", "core")
	autoscale(t, n, "foreign", "example.com/v1", "Deployment", "foreign")
	autoscale(t, n, "b-second", "apps/v1", "StatefulSet", "twice")
	autoscale(t, n, "a-first", "apps/v1", "StatefulSet", "twice")
	autoscale(t, n, "last", "apps/v1", "Deployment", "last")
	eventually(t, "all are cached", "HorizontalPodAutoscaler/last", func() string {
		return autoscalerOf(n, "apps", "Deployment", "last")
	})
	for sentence, c := range map[string]struct{ namespace, group, kind, name, want string }{
		"the target":                           {n, "apps", "Deployment", "web", "HorizontalPodAutoscaler/web"},
		"a target with another version":        {n, "apps", "Deployment", "old", "HorizontalPodAutoscaler/old"},
		"a target in the core group":           {n, "", "ReplicationController", "core", "HorizontalPodAutoscaler/core"},
		"the same kind in another group":       {n, "example.com", "Deployment", "foreign", "HorizontalPodAutoscaler/foreign"},
		"the target's name in apps":            {n, "apps", "Deployment", "foreign", ""},
		"the first target in another group":    {n, "example.com", "Deployment", "web", ""},
		"the first by name of two autoscalers": {n, "apps", "StatefulSet", "twice", "HorizontalPodAutoscaler/a-first"},
		"another kind with the same name":      {n, "apps", "StatefulSet", "web", ""},
		"another name":                         {n, "apps", "Deployment", "api", ""},
		"another namespace":                    {"default", "apps", "Deployment", "web", ""},
		"no namespace":                         {"", "apps", "Deployment", "none", ""},
		"a missing namespace":                  {"nowhere", "apps", "Deployment", "web", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := autoscalerOf(c.namespace, c.group, c.kind, c.name)
			expect.Equal(t, "autoscaler", c.want, got)
		})
	}
}

// widgets returns a CRD with a scale subresource in some of its versions, each with its own path.
func widgets(group string, paths map[string]string) *apiextensionsv1.CustomResourceDefinition {
	crd := defineScaler(schema.GroupKind{Group: group, Kind: "Widget"}, "widgets", "v1", "v2", "v3")
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		version.Storage = version.Name == "v2"
		if path, ok := paths[version.Name]; ok {
			version.Subresources = &apiextensionsv1.CustomResourceSubresources{
				Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: path, StatusReplicasPath: ".status.replicas"},
			}
		}
	}
	return crd
}

func scalePath(group, version, kind string) string {
	path := suite.state.ScalePath(group, version, kind)
	if path == nil {
		return "none"
	}
	return path.String()
}

func TestScalePathOfCustomResources(t *testing.T) {
	t.Parallel()
	crd := widgets("paths.example.com", map[string]string{"v1": ".spec.replicas", "v2": ".spec.pool.size"})
	create(t, crd)
	create(t, widgets("elsewhere.example.com", map[string]string{"v1": ".spec.count"}))
	known := func(group, version string) func() string {
		return func() string { return scalePath(group, version, "Widget") }
	}
	eventually(t, "the first version", ".spec.replicas", known("paths.example.com", "v1"))
	eventually(t, "the second version", ".spec.pool.size", known("paths.example.com", "v2"))
	eventually(t, "the same kind of another group", ".spec.count", known("elsewhere.example.com", "v1"))
	create(t, widgets("several.example.com", map[string]string{"v1": ".spec.one", "v3": ".spec.three"}))
	eventually(t, "the first other version", ".spec.one", known("several.example.com", "v2"))
	for sentence, c := range map[string]struct{ group, version, kind, want string }{
		"a version without a scale: the path of the storage version": {"paths.example.com", "v3", "Widget", ".spec.pool.size"},
		"the path of the only version that has a scale":              {"elsewhere.example.com", "v2", "Widget", ".spec.count"},
		"a plural resource name":                                     {"paths.example.com", "v1", "widgets", "none"},
	} {
		expect.Equal(t, sentence, c.want, scalePath(c.group, c.version, c.kind))
	}

	before := crd.DeepCopy()
	crd.Spec.Versions[0].Subresources.Scale.SpecReplicasPath = ".spec.moved"
	crd.Spec.Versions[1].Subresources = nil
	expect.NoError(t, suite.client.Patch(t.Context(), crd, client.MergeFrom(before)))
	eventually(t, "after the path has changed", ".spec.moved", known("paths.example.com", "v1"))
	eventually(t, "after the subresource was removed", ".spec.moved", known("paths.example.com", "v2"))
}
