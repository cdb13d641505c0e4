package source

import (
	"fmt"

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
