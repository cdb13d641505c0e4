package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// follow copies new lines of the webhook's log until ctx is done or the parent process has ended. A killed `go run` does not
// signal its child, which would keep the cluster running forever.
func follow(ctx context.Context, webhook *handofftest.Webhook, to io.Writer) {
	const pause = 500 * time.Millisecond
	parent := os.Getppid()
	seen := webhook.Log()
	for os.Getppid() == parent {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		log := webhook.Log()
		fmt.Fprint(to, strings.TrimPrefix(log, seen))
		seen = log
	}
}
