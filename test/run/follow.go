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

// follow copies what the webhook logs from now on, until ctx is done or whoever started this process is gone: a `go run`
// that is killed says nothing to what it runs, and the cluster would stay for ever.
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
