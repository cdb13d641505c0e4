package audit

import (
	"fmt"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// enabling is the command by which handoff keeps what it would keep of an object.
func enabling(s source.Subject) string {
	if _, own := s.Object.Mode(); own {
		return fmt.Sprintf("kubectl annotate --overwrite %s -n %s %s=%s",
			s, s.Namespace, ownership.ModeAnnotation, ownership.ModeEnforce)
	}
	return "kubectl handoff enable " + s.Namespace
}

// releasing is the command by which a manifest lets go of a field.
func releasing(e explain.Explanation, field string) string {
	return fmt.Sprintf("kubectl handoff release %s '%s' -n %s", e, field, e.Namespace)
}

// giving is the command by which handoff is told that a field is a controller's. It fails where the object gives others away
// already, and leaves them.
func giving(e explain.Explanation, field string) string {
	return fmt.Sprintf("kubectl annotate %s -n %s '%s=%s'", e, e.Namespace, ownership.ControllerFieldsAnnotation, field)
}
