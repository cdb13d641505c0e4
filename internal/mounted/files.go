// Package mounted follows files that appear late, and change, as those of a mounted Secret or ConfigMap.
package mounted

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

// interval is the interval at which Follow checks files for changes. Polling is cheap, and works on every kind of volume.
const interval = time.Second

// Files are files of which the last valid content is used.
type Files[T any] struct {
	// Subject names the content in logs.
	Subject string
	// Read returns the content, with an error if it is not valid. It is not called concurrently.
	Read func() (Content[T], error)
	// Kept and Rejected end an error, if there is valid content and if there is none.
	Kept, Rejected string
	Log            logr.Logger

	mutex   sync.Mutex // guards Reload and problem
	problem error
	used    atomic.Pointer[Content[T]]
}

// Content is what files contain.
type Content[T any] struct {
	Value T
	// Encoded identifies the content.
	Encoded []byte
	// Expires is the time from which the content is not valid; zero if it always is.
	Expires time.Time
	// Details are the keys and values with which it is logged.
	Details []any
}

// Follow reloads files until the context is done.
func Follow(ctx context.Context, reload ...func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		for _, one := range reload {
			one()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Used returns the last valid content, nil if there was none.
func (f *Files[T]) Used() *Content[T] { return f.used.Load() }

// Reload uses what is in the files if it is valid. It logs what is wrong with them when that changes.
func (f *Files[T]) Reload() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	next, err := f.Read()
	used := f.used.Load()
	same := used != nil && bytes.Equal(next.Encoded, used.Encoded)
	switch {
	case err == nil && !same:
		f.used.Store(&next)
		f.Log.Info(f.Subject+" loaded", next.Details...)
	case err != nil && used == nil:
		err = fmt.Errorf("%w%s", err, f.Rejected)
	case err != nil && !same:
		err = fmt.Errorf("%w; still %s%s", err, f.Kept, used.until())
	}
	switch {
	case err != nil && (f.problem == nil || f.problem.Error() != err.Error()):
		f.Log.Error(err, f.Subject+" is missing or invalid; checking again every second")
	case err == nil && f.problem != nil:
		f.Log.Info(f.Subject + " is valid again")
	}
	f.problem = err
}

func (c *Content[T]) until() string {
	if c.Expires.IsZero() {
		return ""
	}
	return ", which expires at " + c.Expires.Format(time.RFC3339)
}

// Ready is a readiness check, which only fails without content that is still valid.
func (f *Files[T]) Ready() error {
	f.Reload()
	if used := f.used.Load(); used != nil && (used.Expires.IsZero() || time.Now().Before(used.Expires)) {
		return nil
	}
	return f.Problem()
}

// Problem returns what was wrong with the files at the last reload.
func (f *Files[T]) Problem() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.problem
}
