package webhook

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
)

// eventLimit limits the Events of each namespace, and of all namespaces together. The zero eventLimit is ready to use.
type eventLimit struct {
	skipped ratelimit.Log

	mutex      sync.Mutex
	all        *rate.Limiter
	namespaces map[string]*rate.Limiter
}

const (
	eventsPerSecond, eventBurst       = 1, 100 // of a namespace
	allEventsPerSecond, allEventBurst = 10, 300
	// maxLimiters is the number of namespaces from which limiters are removed that limit nothing at present.
	maxLimiters = 1000
)

func (l *eventLimit) allow(namespace string, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.namespaces == nil {
		l.all, l.namespaces = rate.NewLimiter(allEventsPerSecond, allEventBurst), map[string]*rate.Limiter{}
	}
	limiter := l.namespaces[namespace]
	if limiter == nil {
		if len(l.namespaces) >= maxLimiters {
			maps.DeleteFunc(l.namespaces, func(_ string, other *rate.Limiter) bool { return other.TokensAt(now) >= eventBurst })
		}
		limiter = rate.NewLimiter(eventsPerSecond, eventBurst)
		l.namespaces[namespace] = limiter
	}
	// Check the namespace's limit first, so that Events beyond it do not use up the common limit.
	return limiter.AllowN(now, 1) && l.all.AllowN(now, 1)
}
