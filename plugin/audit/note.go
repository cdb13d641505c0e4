package audit

import (
	"fmt"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Note is worth knowing about an object, and no risk.
type Note struct {
	Kind   Kind            `json:"kind"`
	Object source.Identity `json:"object,omitzero"`
	Field  string          `json:"field,omitempty"`
	// Manager is the field manager that has Changed the field.
	Manager string `json:"manager,omitempty"`
	// Mode is the mode in which handoff reviews an Unrecorded object.
	Mode optin.Mode `json:"mode,omitempty"`
	Text string     `json:"text"`
}

// The kinds of notes; their texts say what they mean. NotAsSet is about no object: handoff does not act as its mode says, and why.
const (
	Annotated   Kind = "annotated"
	Changed     Kind = "changed"
	NotAsSet    Kind = "mode"
	RulesUndone Kind = "rules-undone"
	ScalesToOne Kind = "scales-to-one"
	Unrecorded  Kind = "unrecorded"
)

var texts = map[Kind]string{
	Annotated: "Annotation " + optin.Annotation + " has no effect on objects; set the label of that name instead",
	Changed: "Changed since the manifest set it; the next apply overwrites it, and an apply that drops the field removes it; set the value " +
		"in the manifest, or name the field in a rule",
	RulesUndone: "Annotation " + ownership.ControllerFieldsAnnotation + " of the manifest is missing, as after kubectl rollout undo; apply again",
	ScalesToOne: "Not recorded: whether a Helm 3 chart drops replicas, or a server-side apply sets them to null. If so, they become 1",
	Unrecorded: "Not recorded: whether the manifest sets the replicas, which an autoscaler has taken over in managedFields from Helm or " +
		"server-side apply; check the manifest",
}

func noteOf(kind Kind, s source.Subject) Note {
	return Note{Kind: kind, Object: s.Identity, Text: texts[kind]}
}

// name returns what a note is about.
func (n Note) name() string {
	if n.Kind == Changed {
		return fmt.Sprintf("%s of %s (%s)", n.Field, n.Object.Title(), n.Manager)
	}
	return n.Object.Title()
}

// Possible returns sentences about Unrecorded objects that handoff does not keep: each could be a risk.
func (r *Report) Possible() (sentences []string) {
	for _, n := range r.Notes {
		if n.Kind == Unrecorded && n.Mode != optin.Enforce {
			sentences = append(sentences, fmt.Sprintf("%s: unknown whether its manifest sets %s, and the next apply "+
				"resets it: no record of the manifest is in the object", n.Object.Title(), n.Field))
		}
	}
	return sentences
}
