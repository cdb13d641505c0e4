package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/plugin/audit"
)

// progress shows the progress of an audit on standard error.
type progress struct {
	out io.Writer
	now func() time.Time
	// rewriting makes each line overwrite the last one; clear removes it at the end.
	rewriting bool
	every     time.Duration
	last      time.Time
	shown     bool
}

// maxColumns limits the length of a line: a line that the terminal wraps cannot be overwritten.
const maxColumns = 79

func newProgress(env Environment, style string) (*progress, error) {
	p := &progress{out: env.IOStreams.ErrOut, now: time.Now}
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
		return nil, fmt.Errorf("invalid --progress=%s; use auto, plain or none", style)
	}
	return p, nil
}

// update shows a state, unless one was shown recently.
func (p *progress) update(state audit.Progress) {
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
	if len(line) > maxColumns {
		line = line[:maxColumns]
	}
	if p.rewriting {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K", line)
		return
	}
	_, _ = fmt.Fprintln(p.out, strings.TrimSpace(line))
}

// clear removes the line from the terminal.
func (p *progress) clear() {
	if p.rewriting && p.shown {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
}
