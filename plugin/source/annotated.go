package source

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/ownership"
)

// Annotated is an object with ownership.ModeAnnotation, which has an effect on namespaces only.
type Annotated struct {
	Object string         `json:"object"` // as "deployment.apps/web -n shop"
	Mode   ownership.Mode `json:"mode"`
}

// AnnotatedOf returns a subject as Annotated; ok is false if it does not have the annotation, or is a namespace.
func AnnotatedOf(s Subject) (a Annotated, ok bool) {
	text, ok := s.Object.ModeAnnotation()
	mode, _ := ownership.ModeOf(text, true)
	return Annotated{s.Title(), mode}, ok && s.Namespace != ""
}

// AnnotatedNote says that the annotation of objects has no effect. It is empty if there are none.
func AnnotatedNote(all []Annotated) string {
	if len(all) == 0 {
		return ""
	}
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Object
	}
	return fmt.Sprintf("the annotation %s has no effect on objects; set the label of that name instead: %s",
		ownership.ModeAnnotation, printable.Some(names))
}

// FindAnnotated reads all objects that can be scaled, in the given namespaces or, without any, in all. Unread are the
// kinds that could not be read.
func FindAnnotated(
	ctx context.Context, getter genericclioptions.RESTClientGetter, namespaces ...string,
) (found []Annotated, unread []string, err error) {
	c, err := newCluster(getter)
	if err != nil {
		return nil, nil, err
	}
	kinds, _, err := c.surveyed(nil)
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		for _, kind := range kinds {
			complete, _, err := c.list(ctx, kind.gvk.GroupKind(), namespace, labels.Everything(), func(o *unstructured.Unstructured) error {
				s, err := new(Live).newSubject(o)
				if a, ok := AnnotatedOf(s); ok {
					found = append(found, a)
				}
				return err
			})
			if err != nil || !complete {
				unread = append(unread, kind.String())
			}
		}
	}
	return found, unread, err
}
