package source

import (
	"context"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/internal/protocol"
)

// WithWarnings returns a context whose requests append the warnings in their responses to heard. If forwarded is set, those
// that are not handoff's are also shown to the user.
func WithWarnings(ctx context.Context, forwarded bool) (with context.Context, heard *[]string) {
	c := &collector{forwarded: forwarded}
	return context.WithValue(ctx, collectorKey{}, c), &c.heard
}

type collectorKey struct{}

type collector struct {
	heard     []string
	forwarded bool
}

// warningHandler gives warnings to the collector of a request, and shows them to the user.
type warningHandler struct{ next rest.WarningHandler }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (h warningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	if c, ok := ctx.Value(collectorKey{}).(*collector); ok {
		c.heard = append(c.heard, text)
		if !c.forwarded || strings.HasPrefix(text, protocol.WarningPrefix) {
			return
		}
	}
	if h.next != nil {
		h.next.HandleWarningHeader(code, agent, text)
	}
}
