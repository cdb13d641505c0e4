package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// shutdownGrace is how long the other parts may take to return after the server has drained. controller-runtime's manager
// never returns while its informers have not synced, for instance because permissions are missing.
const shutdownGrace = 5 * time.Second

// part is a function that runs until its context is done.
type part func(context.Context) error

// run runs the server until the context is done, and the other parts until the server has returned: the server needs them as
// long as it answers requests. If one of them fails, all are stopped.
func run(ctx context.Context, server part, others []part) error {
	group, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	othersCtx, stop := context.WithCancel(failed)
	defer stop()
	for _, other := range others {
		group.Go(func() error { return other(othersCtx) })
	}
	served, done := make(chan struct{}), make(chan error, 1)
	group.Go(func() error {
		defer close(served)
		defer stop()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(failed, func() { cancel(context.Cause(failed)) })()
		return server(ctx)
	})
	go func() { done <- group.Wait() }()
	<-served
	select {
	case err := <-done:
		return err
	case <-time.After(shutdownGrace):
		return context.Cause(failed) // nil if none has failed
	}
}
