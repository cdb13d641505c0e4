package audit

import (
	"fmt"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// releaseCommand returns the command that stops managing a field through the manifest.
func releaseCommand(e explain.Explanation, field string) string {
	return fmt.Sprintf("kubectl handoff release %s '%s' -n %s", e.Subject, field, e.Subject.Namespace)
}

// assignCommand returns the command that assigns a field to a controller. It fails, and changes nothing, if the object already
// has the annotation with other fields.
func assignCommand(e explain.Explanation, field string) string {
	return fmt.Sprintf("kubectl annotate %s -n %s '%s=%s'",
		e.Subject, e.Subject.Namespace, ownership.ControllerFieldsAnnotation, field)
}
