package audit

import (
	"github.com/ownership-handoff/handoff/source"
)

// Mode is what handoff does to an object: enforce, warn or off.
type Mode string

// The modes.
const (
	Enforce Mode = "enforce"
	Warn    Mode = "warn"
	Off     Mode = "off"
	// NotKnown is that of a namespace that could not be read.
	NotKnown Mode = "unknown"
)

// modeOf returns the mode of an object: that of its own annotation, else its namespace's.
func (a *auditor) modeOf(s source.Subject) Mode {
	if mode, ok := s.Object.Mode(); ok {
		return ofAnnotation(mode, true)
	}
	namespace, read := a.survey.Namespaces[s.Namespace]
	switch {
	case s.Namespace == "":
		return Off // handoff leaves what is outside of namespaces alone
	case !read:
		return NotKnown
	default:
		return ofNamespace(namespace)
	}
}

func ofNamespace(n source.Namespace) Mode {
	if n.Unknown {
		return NotKnown
	}
	return ofAnnotation(n.Mode, n.Annotated)
}

// ofAnnotation reads a mode as the webhook does: what it does not know counts as warn.
func ofAnnotation(mode string, annotated bool) Mode {
	switch {
	case !annotated, Mode(mode) == Off:
		return Off
	case Mode(mode) == Enforce:
		return Enforce
	default:
		return Warn
	}
}

// handoff says what handoff does about an apply in a mode; kept is the value that it would keep, empty where it would let the
// apply through.
func (m Mode) handoff(kept string) string {
	switch {
	case kept == "":
		return "lets it through"
	case m == Enforce:
		return "keeps " + kept
	default:
		return string(m) + ": would keep " + kept
	}
}
