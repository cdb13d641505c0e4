package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// lingering is how long parts may take to end when no request is left that could need them. controller-runtime's manager
// does not end at all while its informers have not synced, which is what missing rights lead to.
const lingering = 5 * time.Second

// part is something that runs until its context ends.
type part func(context.Context) error

// run runs the server until the context ends, and the other parts until the server has ended: as long as it answers, it
// needs what they know. When one of them fails, all end.
func run(ctx context.Context, server part, others []part) error {
	group, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	outliving, stop := context.WithCancel(failed)
	defer stop()
	for _, other := range others {
		group.Go(func() error { return other(outliving) })
	}
	served, all := make(chan struct{}), make(chan error, 1)
	group.Go(func() error {
		defer close(served)
		defer stop()
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		defer context.AfterFunc(failed, func() { end(context.Cause(failed)) })()
		return server(ctx)
	})
	go func() { all <- group.Wait() }()
	<-served
	select {
	case err := <-all:
		return err
	case <-time.After(lingering):
		return context.Cause(failed) // nil, when none has failed
	}
}
