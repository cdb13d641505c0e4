package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// A watch of client-go lasts five to ten minutes, and a watch without events can mean that nothing changed or that the
// connection is dead: a proxy can drop a connection without closing it, and bookmarks are not guaranteed. Therefore each watch is
// short, and its regular end, which the API server sends, confirms that no event was missed.
const (
	watchFor = 8 * time.Second
	// responseTimeout is how long the API server may take to start a watch, and to end it after its timeout.
	responseTimeout = 5 * time.Second
	// listTimeout is how long the API server may take to return a page. An object can be 1.5 MiB large, and take 60 MiB when it is
	// decoded, so pages are small.
	listTimeout = time.Minute
	pageSize    = 2
	// handoverAfter is how long the watch that streams the initial objects is used afterwards. client-go reports a shorter
	// watch as an error.
	handoverAfter = 2 * time.Second
	// firstPause and maxPause limit the pause between attempts to renew a watch, which jitter up to doubles. client-go pauses up to a minute.
	firstPause = time.Second / 2
	maxPause   = 2 * time.Second
)

var (
	errNoResponse = fmt.Errorf("the API server did not answer within %s", responseTimeout)
	errOverdue    = errors.New("the API server did not end the watch after its timeout")
)

// renewingInformer is an informer that records when its watch was last confirmed to be up to date.
type renewingInformer struct {
	toolscache.SharedIndexInformer

	renewal   *renewal
	freshness *freshness
}

// SetTransform also reduces the lists, before the informer receives them.
func (i *renewingInformer) SetTransform(reduce toolscache.TransformFunc) error {
	i.renewal.reduce = reduce
	return i.SharedIndexInformer.SetTransform(reduce)
}

func newInformer(
	lw toolscache.ListerWatcher, o runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) *renewingInformer {
	r := &renewal{api: toolscache.ToListerWatcherWithContext(lw), freshness: &freshness{last: time.Now()}}
	short := &toolscache.ListWatch{ListWithContextFunc: r.list, WatchFuncWithContext: r.watch}
	return &renewingInformer{toolscache.NewSharedIndexInformer(short, o, resync, indexers), r, r.freshness}
}

// renewal lists and watches for an informer with short watches, and records whether they are up to date.
type renewal struct {
	api       toolscache.ListerWatcherWithContext
	freshness *freshness
	reduce    toolscache.TransformFunc
}

// list reads all objects in pages. client-go would ask for the list in the API server's cache (resource version 0), which the API
// server returns at once, and reduce the objects afterwards: the CustomResourceDefinitions of some clusters would not fit into memory.
func (r *renewal) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.Limit = "", pageSize
	list, _, err := pager.New(r.page).List(ctx, options)
	r.freshness.record(err)
	return list, err
}

// page reads a page and reduces its objects.
func (r *renewal) page(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := r.api.ListWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	about, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	page := &metainternalversion.List{}
	page.ResourceVersion, page.Continue = about.GetResourceVersion(), about.GetContinue()
	return page, meta.EachListItem(list, func(o runtime.Object) error {
		reduced, err := r.reduce(o)
		if kept, ok := reduced.(runtime.Object); ok {
			page.Items = append(page.Items, kept)
		}
		return err
	})
}

// watch opens a watch, and retries while the API server is unavailable, so that the informer can continue from its current
// resource version instead of listing everything again.
func (r *renewal) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	streaming := options.SendInitialEvents != nil && *options.SendInitialEvents
	if !streaming {
		options.TimeoutSeconds = new(int64(watchFor / time.Second))
	}
	pauses := wait.Backoff{Duration: firstPause, Factor: 2, Cap: maxPause, Steps: math.MaxInt, Jitter: 1}
	for {
		opened, err := r.open(ctx, options, streaming)
		if err == nil {
			return opened, nil
		}
		retry := retryable(err, streaming)
		if retry || !streaming { // otherwise the informer lists instead, and the error of the list is the reason
			r.freshness.record(err)
		}
		if !retry {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pauses.Step()):
		}
	}
}

// retryable reports whether the same request can succeed later. If streaming the initial objects is forbidden, it returns false,
// so that the informer tries to list them instead.
func retryable(err error, streaming bool) bool {
	if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		return true // not a response of the API server
	}
	isNotKnownYet := apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) && !streaming || apierrors.IsTimeout(err) && !isNotKnownYet ||
		apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
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
// The end of a watch confirms that it is up to date if the API server ended it after its timeout.
func (r *renewal) follow(w watch.Interface, cancel context.CancelFunc, streaming bool) watch.Interface {
	events := make(chan watch.Event)
	forwarded := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer cancel()
		defer w.Stop()
		started, due := time.Now(), time.NewTimer(watchFor+responseTimeout)
		defer due.Stop()
		var reported error // by the last event
		for isHandedOver := false; ; {
			select {
			case <-forwarded.StopChan():
				return
			case <-due.C:
				if !isHandedOver {
					r.freshness.record(errOverdue)
				}
				return
			case event, ok := <-w.ResultChan():
				if !ok {
					if isRegular := !streaming && reported == nil && time.Since(started) >= watchFor-time.Second; isRegular {
						r.freshness.record(nil)
					}
					return
				}
				if reported = nil; event.Type == watch.Error {
					reported = apierrors.FromObject(event.Object)
				}
				if streaming && !isHandedOver {
					due.Reset(watchFor + responseTimeout)
					if isHandedOver = endsInitialEvents(event); isHandedOver {
						due.Reset(handoverAfter)
					}
				}
				if !streaming || isHandedOver || reported != nil { // until then, the informer has its old objects
					r.freshness.record(reported)
				}
				if !streaming && mayGoOn(reported) && time.Since(started) > time.Second {
					return // client-go goes on from the last version, unless a watch has ended at once
				}
				select {
				case events <- event:
				case <-forwarded.StopChan():
					return
				}
			}
		}
	}()
	return forwarded
}

// endsInitialEvents reports whether an event is the bookmark after the initial objects of a streamed list.
func endsInitialEvents(e watch.Event) bool {
	object, ok := e.Object.(metav1.Object)
	return ok && e.Type == watch.Bookmark && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// mayGoOn reports whether a watch can go on from the last version after an error.
func mayGoOn(err error) bool {
	return err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err)
}

// maxAge is the age from which an informer's cache is stale. In a healthy cluster, each watch is confirmed every 8 seconds. The
// kubelet needs up to 15 more seconds to mark a pod as not ready.
const maxAge = 15 * time.Second

// freshness is when a watch was last confirmed to be up to date, and the last error since.
type freshness struct {
	mutex   sync.Mutex
	last    time.Time
	lastErr error
}

// record records that the watch is up to date or, with an error, why that cannot be confirmed.
func (f *freshness) record(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.lastErr = err; err == nil {
		f.last = time.Now()
	}
}

func (f *freshness) read() (last time.Time, lastErr error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.last, f.lastErr
}
