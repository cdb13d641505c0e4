package audit

import (
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// modeOf returns the mode of an object: that of its own annotation, else its namespace's.
func (a *auditor) modeOf(s source.Subject) ownership.Mode {
	if text, ok := s.Object.Mode(); ok {
		mode, _ := ownership.ParseMode(text)
		return mode
	}
	namespace, read := a.survey.Namespaces[s.Namespace]
	switch {
	case s.Namespace == "":
		return ownership.ModeOff // handoff leaves what is outside of namespaces alone
	case !read:
		return source.UnknownMode
	default:
		return namespace
	}
}

// handoff says what handoff does about an apply in a mode; kept is the value that it would keep, empty where it would let the
// apply through.
func handoff(m ownership.Mode, kept string) string {
	switch {
	case kept == "":
		return "lets it through"
	case m == ownership.ModeEnforce:
		return "keeps " + kept
	default:
		return string(m) + ": would keep " + kept
	}
}
