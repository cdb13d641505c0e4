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

// A watch of client-go lasts five to ten minutes, and silence does not distinguish a quiet cluster from a dead watch: a
// proxy can drop one without closing it, and bookmarks are not guaranteed. So each watch is short, and its end, which the
// API server sends, proves that nothing was missed.
const (
	watchFor = 8 * time.Second
	// answerWithin is how long the API server may take to begin a watch, and to end one that is over.
	answerWithin = 5 * time.Second
	listWithin   = time.Minute
	// handoverAfter is how long the watch that streams the initial objects is used afterwards. client-go reports a shorter
	// one as an error.
	handoverAfter = 2 * time.Second
	// firstPause and lastPause are between two attempts to renew a watch. client-go would pause for up to a minute.
	firstPause = time.Second
	lastPause  = 4 * time.Second
)

var (
	errNoAnswer = fmt.Errorf("the API server did not answer within %s", answerWithin)
	errSilent   = errors.New("the watch did not end when it was due")
)

// current is an informer that records when its watch last proved to be current.
type current struct {
	toolscache.SharedIndexInformer

	proof *proof
}

func newInformer(
	lw toolscache.ListerWatcher, o runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	r := &renewal{api: toolscache.ToListerWatcherWithContext(lw), proof: newProof()}
	short := &toolscache.ListWatch{ListWithContextFunc: r.list, WatchFuncWithContext: r.watch}
	return &current{toolscache.NewSharedIndexInformer(short, o, resync, indexers), r.proof}
}

// renewal lists and watches for an informer, by short watches, and records what they prove.
type renewal struct {
	api   toolscache.ListerWatcherWithContext
	proof *proof
}

func (r *renewal) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	list, err := r.api.ListWithContext(ctx, options)
	if err != nil {
		r.proof.failed(err)
		return nil, err
	}
	r.proof.given()
	return list, nil
}

// watch opens a watch, and repeats that while the API server cannot be asked: where nothing else is wrong, the informer
// goes on from the resource version that it has reached, instead of listing everything again.
func (r *renewal) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	streaming := options.SendInitialEvents != nil && *options.SendInitialEvents
	if !streaming {
		seconds := int64(watchFor / time.Second)
		options.TimeoutSeconds = &seconds
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		opened, err := r.open(ctx, options)
		if err == nil {
			return r.follow(opened, streaming), nil
		}
		again := repeats(err, streaming)
		if again || !streaming { // else the informer lists instead, and what that fails with is the reason
			r.proof.failed(err)
		}
		if !again {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause/2 + rand.N(pause)): //nolint:gosec // spreads requests, hides nothing
		}
	}
}

// repeats reports whether the same request can succeed later. A refusal of the initial objects is left to the informer,
// which then tries to list them.
func repeats(err error, streaming bool) bool {
	if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		return true // no answer of the API server
	}
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) && !streaming ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}

// open begins a watch, which the API server has to answer in time: a connection that is open may lead nowhere.
func (r *renewal) open(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(answerWithin, cancel)
	opened, err := r.api.WatchWithContext(ctx, options)
	inTime := timer.Stop()
	switch {
	case err == nil && inTime:
		return &canceling{opened, cancel}, nil
	case err == nil:
		opened.Stop()
	}
	cancel()
	if !inTime {
		err = errNoAnswer
	}
	return nil, err
}

// canceling is a watch that ends its request when it is stopped.
type canceling struct {
	watch.Interface

	cancel context.CancelFunc
}

func (c *canceling) Stop() {
	c.Interface.Stop()
	c.cancel()
}

// follow passes on the events of a watch and records what they prove. It ends a watch that has lasted too long.
func (r *renewal) follow(w watch.Interface, streaming bool) watch.Interface {
	events := make(chan watch.Event)
	passed := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer w.Stop()
		s := stream{renewal: r, streaming: streaming, began: time.Now(), due: time.NewTimer(watchFor + answerWithin)}
		defer s.due.Stop()
		for s.next(w, passed.StopChan(), events) {
		}
	}()
	return passed
}

// stream is one watch on its way.
type stream struct {
	*renewal

	streaming bool // of the initial objects
	began     time.Time
	due       *time.Timer
	handover  bool
}

// next passes on one event, and reports whether there can be another.
func (s *stream) next(w watch.Interface, stopped <-chan struct{}, events chan<- watch.Event) bool {
	select {
	case <-stopped:
		return false
	case <-s.due.C:
		if !s.handover {
			s.proof.failed(errSilent)
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

// ended records the end of a watch: a proof if it is the API server's own, which comes when the watch is due.
func (s *stream) ended() {
	if !s.streaming && time.Since(s.began) >= watchFor-time.Second {
		s.proof.given()
	}
}

func (s *stream) read(event watch.Event) {
	if event.Type == watch.Error {
		s.proof.failed(apierrors.FromObject(event.Object))
		return
	}
	s.proof.given()
	if !s.streaming || s.handover {
		return
	}
	s.due.Reset(watchFor + answerWithin)
	if bookmark, ok := event.Object.(metav1.Object); ok && event.Type == watch.Bookmark &&
		bookmark.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		s.handover = true
		s.due.Reset(handoverAfter)
	}
}
