package serving

import (
	"container/list"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/ownership-handoff/handoff/internal/protocol"
)

// maxBytes is the maximum total size of the reviews in flight, counting only bytes that have been received. A review takes about
// three times its size while it is processed, and the container has a memory limit.
const maxBytes = 64 << 20

// A review above largeReview is shed when maxLargeBytes are in flight, so that a client that sends many large objects leaves memory to the
// small ones of others.
const (
	largeReview   = 256 << 10
	maxLargeBytes = maxBytes / 4 * 3
)

// limiter starts processing a review once it has been read completely. It sheds reviews that arrive faster than they can be
// answered, because otherwise all of them would be answered too late. A client that sends slowly, or reads its response slowly,
// does not affect others: it does not count as working, its Content-Length is not counted, and it is evicted first if memory runs out.
type limiter struct {
	reviews Reviews
	// maxWorking is the maximum number of reviews that are processed at a time; 0 means no limit.
	maxWorking int
	maxBody    int64

	mutex    sync.Mutex
	inFlight *list.List // of pendingReviews; of those that wait for their clients, the longest waiting is first
	working  int
	bytes    int64
}

func newLimiter(maxWorking int, maxBody int64, reviews Reviews, r prometheus.Registerer) *limiter {
	l := &limiter{reviews: reviews, maxWorking: maxWorking, maxBody: maxBody, inFlight: list.New()}
	promauto.With(r).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "handoff_reviews_in_flight",
		Help: "Reviews being read, processed or answered. Reviews beyond --max-in-flight are shed as soon as they have been read.",
	}, func() float64 {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return float64(l.inFlight.Len())
	})
	return l
}

// pendingReview is a review in flight. Its fields are guarded by the limiter's mutex.
type pendingReview struct {
	limiter    *limiter
	connection *connection // nil if the server did not record it
	place      *list.Element
	bytes      int64
	working    bool // it is being processed
	// refused reports that there was not enough memory for the review.
	refused bool
	// setDeadline sets the deadline of the read or write that waits for the client; nil while the review does not wait.
	setDeadline func(time.Time) error
}

func (l *limiter) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		http.Error(w, protocol.MethodNotAllowed, http.StatusMethodNotAllowed)
		return
	}
	controller := http.NewResponseController(w)
	c, _ := req.Context().Value(connectionKey{}).(*connection)
	p := l.enter(c, controller.SetReadDeadline)
	defer l.leave(p)
	body, err := p.read(req)
	if l.begin(p) {
		l.reviews.Answer(&response{w, p, controller}, req, body, err)
		return
	}
	l.reviews.Shed(w, body)
}

func (l *limiter) enter(c *connection, setDeadline func(time.Time) error) *pendingReview {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	p := &pendingReview{limiter: l, connection: c}
	p.place = l.inFlight.PushBack(p)
	p.become(false, setDeadline)
	return p
}

func (l *limiter) leave(p *pendingReview) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	p.become(false, nil)
	l.inFlight.Remove(p.place)
	l.bytes -= p.bytes
}

// become records whether the review is being processed, and whether it waits for its client, whose deadline setDeadline sets; nil if not.
// The caller must hold the mutex.
func (p *pendingReview) become(working bool, setDeadline func(time.Time) error) {
	p.setDeadline = setDeadline
	p.limiter.inFlight.MoveToBack(p.place)
	if p.working {
		p.limiter.working--
	}
	if working {
		p.limiter.working++
	}
	p.working = working
	p.connection.setWorking(working)
}

// received counts bytes that have been received, and reports whether there is enough memory for them. If there is not, it first
// evicts other reviews that wait for their clients, for a large review only large ones.
func (p *pendingReview) received(n int) bool {
	l := p.limiter
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if p.refused {
		return false
	}
	p.bytes += int64(n)
	l.bytes += int64(n)
	isLarge, limit := p.bytes > largeReview, int64(maxBytes)
	if isLarge {
		limit = maxLargeBytes
	}
	for e := l.inFlight.Front(); e != nil && l.bytes > limit; e = e.Next() {
		other := e.Value.(*pendingReview) //nolint:forcetypeassert // the list has no other type
		isReserved := isLarge && other.bytes <= largeReview
		if other != p && other.bytes > 0 && other.setDeadline != nil && !isReserved {
			other.refuse()
			_ = other.setDeadline(time.Unix(1, 0)) // fails only if the connection is already closed
		}
	}
	if l.bytes > limit {
		p.refuse()
	}
	return !p.refused
}

// refuse marks a review whose body is discarded, and stops counting its bytes. The caller must hold the mutex.
func (p *pendingReview) refuse() {
	p.refused = true
	p.limiter.bytes -= p.bytes
	p.bytes = 0
}

// begin starts processing the review, unless maxWorking are being processed. It reports whether it did.
func (l *limiter) begin(p *pendingReview) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if p.refused || l.maxWorking > 0 && l.working >= l.maxWorking {
		return false
	}
	p.become(true, nil)
	return true
}

// response ends the processing of the review before the response is written, as the client may read slowly.
type response struct {
	http.ResponseWriter

	review     *pendingReview
	controller *http.ResponseController
}

func (r *response) Write(text []byte) (int, error) {
	r.review.limiter.mutex.Lock()
	if r.review.working {
		r.review.become(false, r.controller.SetWriteDeadline)
	}
	r.review.limiter.mutex.Unlock()
	return r.ResponseWriter.Write(text)
}

// Unwrap is used by http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
