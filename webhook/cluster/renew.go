package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// A watch of client-go lasts five to ten minutes, and a watch without events can mean that nothing changed or that the
// connection is dead: a proxy can drop a connection without closing it, and bookmarks are not guaranteed. Therefore each watch is
// short, and its regular end, which the API server sends, confirms that no event was missed.
const (
	watchFor = 8 * time.Second
	// responseTimeout is how long the API server may take to start a watch, and to end it after its timeout.
	responseTimeout = 5 * time.Second
	listTimeout     = time.Minute
	// handoverAfter is how long the watch that streams the initial objects is used afterwards. client-go reports a shorter
	// watch as an error.
	handoverAfter = 2 * time.Second
	// firstPause and maxPause limit the pause between two attempts to renew a watch. client-go would pause for up to a minute.
	firstPause = time.Second
	maxPause   = 4 * time.Second
)

var (
	errNoResponse = fmt.Errorf("the API server did not answer within %s", responseTimeout)
	errOverdue    = errors.New("the API server did not end the watch after its timeout")
)

// renewingInformer is an informer that records when its watch was last confirmed to be up to date.
type renewingInformer struct {
	toolscache.SharedIndexInformer

	freshness *freshness
}

func newInformer(
	lw toolscache.ListerWatcher, o runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	r := &renewal{api: toolscache.ToListerWatcherWithContext(lw), freshness: newFreshness()}
	short := &toolscache.ListWatch{ListWithContextFunc: r.list, WatchFuncWithContext: r.watch}
	return &renewingInformer{toolscache.NewSharedIndexInformer(short, o, resync, indexers), r.freshness}
}

// renewal lists and watches for an informer with short watches, and records whether they are up to date.
type renewal struct {
	api       toolscache.ListerWatcherWithContext
	freshness *freshness
}

func (r *renewal) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := r.api.ListWithContext(ctx, options)
	if err != nil {
		r.freshness.failed(err)
		return nil, err
	}
	r.freshness.confirmed()
	return list, nil
}

// watch opens a watch, and retries while the API server is unavailable, so that the informer can continue from its current
// resource version instead of listing everything again.
func (r *renewal) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	streaming := options.SendInitialEvents != nil && *options.SendInitialEvents
	if !streaming {
		seconds := int64(watchFor / time.Second)
		options.TimeoutSeconds = &seconds
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		opened, err := r.open(ctx, options, streaming)
		if err == nil {
			return opened, nil
		}
		retry := retryable(err, streaming)
		if retry || !streaming { // otherwise the informer lists instead, and the error of the list is the reason
			r.freshness.failed(err)
		}
		if !retry {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause/2 + rand.N(pause)): //nolint:gosec // jitter does not need a secure random number
		}
	}
}

// retryable reports whether the same request can succeed later. If streaming the initial objects is forbidden, it returns false,
// so that the informer tries to list them instead.
func retryable(err error, streaming bool) bool {
	if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		return true // not a response of the API server
	}
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) && !streaming ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}

// open starts a watch, and fails if the API server does not respond in time: an open connection can be dead.
func (r *renewal) open(ctx context.Context, options metav1.ListOptions, streaming bool) (watch.Interface, error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(responseTimeout, cancel)
	opened, err := r.api.WatchWithContext(ctx, options)
	inTime := timer.Stop()
	if err == nil && inTime {
		return r.follow(opened, cancel, streaming), nil
	}
	if err == nil {
		opened.Stop()
	}
	cancel()
	if !inTime {
		err = errNoResponse
	}
	return nil, err
}

// follow forwards the events of a watch and records its freshness. It ends a watch that takes too long, and cancels its request.
func (r *renewal) follow(w watch.Interface, cancel context.CancelFunc, streaming bool) watch.Interface {
	events := make(chan watch.Event)
	forwarded := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer cancel()
		defer w.Stop()
		s := stream{renewal: r, streaming: streaming, started: time.Now(), due: time.NewTimer(watchFor + responseTimeout)}
		defer s.due.Stop()
		for s.next(w, forwarded.StopChan(), events) {
		}
	}()
	return forwarded
}

// stream is an open watch.
type stream struct {
	renewal   *renewal
	streaming bool // streams the initial objects
	started   time.Time
	due       *time.Timer
	handover  bool
}

// next forwards one event, and reports whether the watch is still open.
func (s *stream) next(w watch.Interface, stopped <-chan struct{}, events chan<- watch.Event) bool {
	select {
	case <-stopped:
		return false
	case <-s.due.C:
		if !s.handover {
			s.renewal.freshness.failed(errOverdue)
		}
		return false
	case event, ok := <-w.ResultChan():
		if !ok {
			s.ended()
			return false
		}
		s.read(event)
		select {
		case events <- event:
			return true
		case <-stopped:
			return false
		}
	}
}

// ended records the end of a watch. It confirms that the watch is up to date if the API server ended it after its timeout.
func (s *stream) ended() {
	if !s.streaming && time.Since(s.started) >= watchFor-time.Second {
		s.renewal.freshness.confirmed()
	}
}

func (s *stream) read(event watch.Event) {
	if event.Type == watch.Error {
		s.renewal.freshness.failed(apierrors.FromObject(event.Object))
		return
	}
	s.renewal.freshness.confirmed()
	if !s.streaming || s.handover {
		return
	}
	s.due.Reset(watchFor + responseTimeout)
	if bookmark, ok := event.Object.(metav1.Object); ok && event.Type == watch.Bookmark &&
		bookmark.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		s.handover = true
		s.due.Reset(handoverAfter)
	}
}
