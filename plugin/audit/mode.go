package audit

import (
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// modeOf returns the mode from an object's label, or else from its namespace.
func (a *auditor) modeOf(s source.Subject) ownership.Mode {
	if text, ok := s.Object.ModeLabel(); ok {
		mode, _ := ownership.ModeOf(text, ok)
		return mode
	}
	namespace, read := a.survey.Namespaces[s.Namespace]
	switch {
	case s.Namespace == "":
		return ownership.ModeOff // handoff does not act on cluster-scoped objects
	case !read:
		return source.UnknownMode
	default:
		return namespace
	}
}

// handoff returns how handoff responds to an apply in a mode; kept is the value that it would keep, or "".
func handoff(m ownership.Mode, kept string) string {
	switch {
	case kept == "":
		return "does not keep it"
	case m == ownership.ModeEnforce:
		return "keeps " + kept
	default:
		return string(m) + ": would keep " + kept
	}
}
