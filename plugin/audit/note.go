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

// The kinds of notes.
const (
	// Annotated means that the object has the mode annotation.
	Annotated Kind = "annotated"
	// Changed means that another manager wrote another value in a field of the manifest, and that handoff does not keep it.
	Changed Kind = "changed"
	// NotAsSet means that handoff does not act as its mode says, and why. It is about no object.
	NotAsSet Kind = "mode"
	// RulesUndone means that the object lacks the annotation ownership.ControllerFieldsAnnotation of its manifest.
	RulesUndone Kind = "rules-undone"
	// ScalesToOne means that an object without an autoscaler scales to 1 if its manifest drops the replicas (Helm 3) or sets them to
	// null (server-side apply): neither is recorded.
	ScalesToOne Kind = "scales-to-one"
	// Unrecorded means that an autoscaler scaled the object after a client that does not record its manifest: nothing in the cluster
	// shows whether the manifest still sets the replicas.
	Unrecorded Kind = "unrecorded"
)

func noteOf(kind Kind, s source.Subject) Note {
	return Note{Kind: kind, Object: s.Identity, Text: map[Kind]string{
		Annotated: "Annotation " + optin.Annotation + " has no effect on objects; set the label of that name instead",
		Changed: "Changed since the manifest set it; the next apply overwrites it, and an apply that drops the field removes it; set the value " +
			"in the manifest, or name the field in a rule",
		RulesUndone: "Annotation " + ownership.ControllerFieldsAnnotation + " of the manifest is missing, as after kubectl rollout undo; apply again",
		ScalesToOne: "Not recorded: whether a Helm 3 chart drops replicas, or a server-side apply sets them to null. If so, they become 1",
		Unrecorded: "Not recorded: whether the manifest sets the replicas, which an autoscaler has taken over in managedFields from Helm or " +
			"server-side apply; check the manifest",
	}[kind]}
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
