package scale_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/scale"
)

func TestKnownScalePaths(t *testing.T) {
	for kind, want := range map[schema.GroupKind]struct{ known, builtin bool }{
		{Group: "apps", Kind: "Deployment"}:                    {true, true},
		{Group: "apps", Kind: "StatefulSet"}:                   {true, true},
		{Group: "apps", Kind: "ReplicaSet"}:                    {true, true},
		{Group: "", Kind: "ReplicationController"}:             {true, true},
		{Group: "apps", Kind: "DaemonSet"}:                     {false, false},
		{Group: "extensions.example.com", Kind: "Deployment"}:  {false, false},
		{Group: "apps.openshift.io", Kind: "DeploymentConfig"}: {true, false},
		{Group: "example.com", Kind: "DeploymentConfig"}:       {false, false},
	} {
		known, builtin := scale.Known(kind.Group, kind.Kind), scale.Builtin(kind.Group, kind.Kind)
		if known != nil != want.known || builtin != nil != want.builtin {
			t.Errorf("%s: want %+v, got %s and %s", kind, want, known, builtin)
		}
	}
}

func TestDeclaredScalePaths(t *testing.T) {
	type versions = []apiextensionsv1.CustomResourceDefinitionVersion
	version := func(name, path string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		v := apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Storage: storage}
		if path != "" {
			v.Subresources = &apiextensionsv1.CustomResourceSubresources{
				Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: path},
			}
		}
		return v
	}
	for sentence, c := range map[string]struct {
		versions versions
		want     string // for v1
	}{
		"declared by the version":     {versions{version("v2", ".spec.two", true), version("v1", ".spec.one", false)}, ".spec.one"},
		"declared by another version": {versions{version("v1", "", true), version("v2", ".spec.two", false)}, ".spec.two"},
		"declared by several others: the storage version's": {
			versions{version("v1", "", false), version("v2", ".spec.two", false), version("v3", ".spec.three", true)}, ".spec.three",
		},
		"declared by several others, but not the storage version: the first": {
			versions{version("v1", "", true), version("v2", ".spec.two", false), version("v3", ".spec.three", false)}, ".spec.two",
		},
		"declared by none": {versions{version("v1", "", true), version("v2", "", false)}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			crd := apiextensionsv1.CustomResourceDefinition{}
			crd.Spec.Group, crd.Spec.Names.Kind, crd.Spec.Versions = "example.com", "Widget", c.versions
			crds := []apiextensionsv1.CustomResourceDefinition{{}, crd}
			if diff := cmp.Diff(c.want, scale.Declared(crds, "example.com", "v1", "Widget").String()); diff != "" {
				t.Errorf("path (-want +got):\n%s", diff)
			}
			if got := scale.Declared(crds, "example.com", "v1", "Gadget"); got != nil {
				t.Errorf("want no path for another kind, got %s", got)
			}
		})
	}
}
