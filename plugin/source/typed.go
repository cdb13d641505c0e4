package source

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// hpaOf converts an autoscaler of any version: the versions agree in the fields that are read.
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

// Schema returns the schema by which kubectl apply merges the object: that of the Go type for built-in kinds
// (k8s.io/kubectl/pkg/cmd/apply/patcher.go), otherwise that of a JSON merge patch.
func (s Subject) Schema() schema.Schema {
	object, err := scheme.Scheme.New(s.Kind)
	if err != nil {
		return schema.JSONMergePatch()
	}
	return new(schema.Types).Of(object)
}
