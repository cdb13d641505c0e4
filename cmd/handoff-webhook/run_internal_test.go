package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var errBroken = errors.New("broken")

func TestServerStopsFirstAndAnyFailureStopsAll(t *testing.T) {
	neverReturns := func(context.Context) error { select {} }
	for sentence, c := range map[string]struct {
		server, other error // the errors with which they fail; nil: they run until their context is done
		third         part
		want          error
		events        []string
	}{
		"the context is canceled": {nil, nil, nil, nil, []string{"canceled", "server stops: context canceled", "other stops"}},
		"the server fails":        {errBroken, nil, nil, errBroken, []string{"other stops"}},
		"another part fails":      {nil, errBroken, nil, errBroken, []string{"server stops: broken"}},
		"a part never returns": {
			nil, nil, neverReturns, nil, []string{"canceled", "server stops: context canceled", "other stops"},
		},
		"a part never returns and another fails": {nil, errBroken, neverReturns, errBroken, []string{"server stops: broken"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var mutex sync.Mutex
			var events []string
			note := func(event string) {
				mutex.Lock()
				defer mutex.Unlock()
				events = append(events, event)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			server := func(ctx context.Context) error {
				if c.server != nil {
					return c.server
				}
				<-ctx.Done()
				note("server stops: " + context.Cause(ctx).Error())
				return nil
			}
			others := []part{func(ctx context.Context) error {
				if c.other != nil {
					return c.other
				}
				<-ctx.Done()
				note("other stops")
				return nil
			}}
			if c.third != nil {
				others = append(others, c.third)
			}
			if c.server == nil && c.other == nil {
				time.AfterFunc(50*time.Millisecond, func() { note("canceled"); cancel() })
			}
			if err := run(ctx, server, others); !errors.Is(err, c.want) {
				t.Errorf("want %v, got %v", c.want, err)
			}
			mutex.Lock()
			defer mutex.Unlock()
			if !slices.Equal(events, c.events) {
				t.Errorf("want %s, got %s", strings.Join(c.events, ", "), strings.Join(events, ", "))
			}
		})
	}
}
