package source

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
