package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/plugin/audit"
)

// progress shows on standard error how far an audit is.
type progress struct {
	out io.Writer
	now func() time.Time
	// rewriting says that a line takes the place of the one before, and is taken away at the end.
	rewriting bool
	every     time.Duration
	last      time.Time
	shown     bool
}

// mostColumns is how long a line is at most: one that a terminal breaks cannot be taken away.
const mostColumns = 79

func newProgress(env Environment, style string) (*progress, error) {
	p := &progress{out: env.ErrOut, now: time.Now}
	switch style {
	case "auto":
		p.rewriting, p.every = true, 200*time.Millisecond
		if !env.Terminal {
			p.out = io.Discard
		}
	case "plain":
		p.every = time.Second
	case "none":
		p.out = io.Discard
	default:
		return nil, fmt.Errorf("--progress=%s is not known; write auto, plain or none", style)
	}
	return p, nil
}

// tell shows a state, unless one was shown just before.
func (p *progress) tell(state audit.Progress) {
	now := p.now()
	if p.shown && now.Sub(p.last) < p.every {
		return
	}
	p.last, p.shown = now, true
	line := fmt.Sprintf("%d objects", state.Looked)
	if state.Of > 0 {
		line = fmt.Sprintf("%d of %d objects", state.Looked, state.Of)
	}
	if state.Resource != "" {
		line = state.Resource + ": " + line
	}
	line += fmt.Sprintf(", risks so far: %d", state.Risks)
	if len(line) > mostColumns {
		line = line[:mostColumns]
	}
	if p.rewriting {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K", line)
		return
	}
	_, _ = fmt.Fprintln(p.out, strings.TrimSpace(line))
}

// end takes the line away.
func (p *progress) end() {
	if p.rewriting && p.shown {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
}
