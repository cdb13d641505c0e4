package installation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestAnObjectThatAListReadIntoAnotherTypeIsReadAgain verifies that a list of metadata leaves no object without content.
func TestAnObjectThatAListReadIntoAnotherTypeIsReadAgain(t *testing.T) {
	what := request{resource: namespaces, name: "shop"}
	in := &Installation{config: &rest.Config{}, read: map[request]response{what: {content: &metav1.PartialObjectMetadata{}}}}
	got, err := once(in, what, func() (*corev1.Namespace, error) { return &corev1.Namespace{}, nil })
	if got == nil || err != nil {
		t.Errorf("want the namespace, got %v, %v", got, err)
	}
}
