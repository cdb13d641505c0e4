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

func TestTheServerEndsFirstAndWhateverFailsEndsAll(t *testing.T) {
	lasting := func(context.Context) error { select {} }
	for sentence, c := range map[string]struct {
		server, other error // what they fail with by themselves; nil: they run until they are to end
		third         part
		want          error
		events        []string
	}{
		"it is asked to end":                     {nil, nil, nil, nil, []string{"asked", "server ends: context canceled", "other ends"}},
		"the server fails":                       {errBroken, nil, nil, errBroken, []string{"other ends"}},
		"another part fails":                     {nil, errBroken, nil, errBroken, []string{"server ends: broken"}},
		"a part does not end":                    {nil, nil, lasting, nil, []string{"asked", "server ends: context canceled", "other ends"}},
		"a part does not end when another fails": {nil, errBroken, lasting, errBroken, []string{"server ends: broken"}},
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
				note("server ends: " + context.Cause(ctx).Error())
				return nil
			}
			others := []part{func(ctx context.Context) error {
				if c.other != nil {
					return c.other
				}
				<-ctx.Done()
				note("other ends")
				return nil
			}}
			if c.third != nil {
				others = append(others, c.third)
			}
			if c.server == nil && c.other == nil {
				time.AfterFunc(50*time.Millisecond, func() { note("asked"); cancel() })
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
