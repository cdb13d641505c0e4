package serving

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

// files are files that may appear late, and change, as in a mounted Secret. Their last valid content is used.
type files[T any] struct {
	subject string
	// read returns the content, with an error if it is not valid.
	read func() (content[T], error)
	// kept and rejected end an error, if there is valid content and if there is none.
	kept, rejected string
	log            logr.Logger

	mutex   sync.Mutex // guards reload and problem
	problem error
	used    atomic.Pointer[content[T]]
}

// content is what files contain.
type content[T any] struct {
	value   T
	encoded []byte
	expires time.Time
	details []any // the keys and values with which it is logged
}

// reload uses what is in the files if it is valid. It logs what is wrong with them when that changes.
func (f *files[T]) reload() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	next, err := f.read()
	used := f.used.Load()
	same := used != nil && bytes.Equal(next.encoded, used.encoded)
	switch {
	case err == nil && !same:
		f.used.Store(&next)
		f.log.Info(f.subject+" loaded", next.details...)
	case err != nil && used == nil:
		err = fmt.Errorf("%w%s", err, f.rejected)
	case err != nil && !same:
		err = fmt.Errorf("%w; still %s, which expires at %s", err, f.kept, used.expires.Format(time.RFC3339))
	}
	switch {
	case err != nil && (f.problem == nil || f.problem.Error() != err.Error()):
		f.log.Error(err, f.subject+" is missing or invalid; checking again every second")
	case err == nil && f.problem != nil:
		f.log.Info(f.subject + " is valid again")
	}
	f.problem = err
}

// ready is a readiness check, which only fails without content that is still valid.
func (f *files[T]) ready() error {
	f.reload()
	if used := f.used.Load(); used != nil && time.Now().Before(used.expires) {
		return nil
	}
	return f.warning()
}

// warning returns what was wrong with the files at the last reload.
func (f *files[T]) warning() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.problem
}
