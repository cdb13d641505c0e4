package webhook

import (
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
)

// eventLimit limits the Events of each namespace, and of all namespaces together.
type eventLimit struct {
	recorder events.EventRecorder
	log      logr.Logger
	skipped  ratelimit.Log

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

// LimitEvents returns a recorder that skips Events beyond a limit, which must be the same for all Events of a pod.
func LimitEvents(recorder events.EventRecorder, log logr.Logger) events.EventRecorder {
	return &eventLimit{
		recorder: recorder, log: log,
		all: rate.NewLimiter(allEventsPerSecond, allEventBurst), namespaces: map[string]*rate.Limiter{},
	}
}

// Eventf implements events.EventRecorder.
func (l *eventLimit) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	namespace := ""
	if reference, ok := regarding.(*corev1.ObjectReference); ok {
		namespace = reference.Namespace
	}
	if !l.allow(namespace, time.Now()) {
		l.skipped.Do(10*time.Second, func(times int) {
			l.log.Info("Events are rate-limited", "skippedSinceLastLog", times, "namespace", namespace)
		})
		return
	}
	l.recorder.Eventf(regarding, related, eventtype, reason, action, note, args...)
}

func (l *eventLimit) allow(namespace string, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
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
