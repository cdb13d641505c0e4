package serving

import (
	"container/list"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// mostBytes is how large the reviews in flight may be together, as far as they have arrived. A review takes some three
// times its size while it is worked on, and a container has a limit of memory.
const mostBytes = 64 << 20

// limiter lets reviews in when they have arrived, and has those shed that come faster than they can be answered: they
// would otherwise all be answered too late. A client that is slow to send, or to read its answer, takes nothing that
// another needs: it holds no slot, what it announces counts for nothing, and where memory runs out, it is the first to go.
type limiter struct {
	reviews Reviews
	// most is how many reviews are worked on at a time; 0: no limit.
	most    int
	maxBody int64

	mutex             sync.Mutex
	inFlight, working int
	bytes             int64
	// waiting are the reviews that wait for their client, with what they hold, longest first.
	waiting *list.List
}

func newLimiter(most int, maxBody int64, reviews Reviews, r prometheus.Registerer) (*limiter, error) {
	l := &limiter{reviews: reviews, most: most, maxBody: maxBody, waiting: list.New()}
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "handoff_reviews_in_flight",
		Help: "Reviews that are read, worked on or answered now; those beyond --max-in-flight are shed as soon as they have arrived.",
	}, func() float64 {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return float64(l.inFlight)
	})
	if err := r.Register(gauge); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return l, nil
}

// passage is one review on its way through. Its fields belong to the limiter's mutex.
type passage struct {
	limiter    *limiter
	connection *connection // nil: not one of the server's
	bytes      int64
	working    bool
	// refused is one for which there was no memory, or no longer.
	refused bool
	place   *list.Element // in waiting
	// end ends what the client is waited for.
	end func(time.Time) error
}

func (l *limiter) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	controller := http.NewResponseController(w)
	p := &passage{limiter: l, connection: connectionOf(req.Context())}
	l.enter(p, controller.SetReadDeadline)
	defer l.leave(p)
	p.read(req)
	if l.begin(p) {
		l.reviews.ServeHTTP(&answer{w, p, controller}, req)
		return
	}
	l.reviews.Shed(w, req)
}

func (l *limiter) enter(p *passage, end func(time.Time) error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.inFlight++
	p.wait(end)
}

func (l *limiter) leave(p *passage) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.inFlight--
	l.bytes -= p.bytes
	p.bytes = 0
	p.finish()
	p.proceed()
}

// wait records that the review waits for its client. The mutex is held.
func (p *passage) wait(end func(time.Time) error) {
	p.end, p.place = end, p.limiter.waiting.PushBack(p)
}

// proceed records that the review waits no longer. The mutex is held.
func (p *passage) proceed() {
	if p.place != nil {
		p.limiter.waiting.Remove(p.place)
		p.place = nil
	}
}

// finish gives the slot back. The mutex is held.
func (p *passage) finish() {
	if p.working {
		p.working = false
		p.limiter.working--
		p.connection.busy(false)
	}
}

// arrive counts bytes that have come, and reports whether there is memory for them.
func (p *passage) arrive(n int) bool {
	l := p.limiter
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if p.refused {
		return false
	}
	p.bytes += int64(n)
	l.bytes += int64(n)
	for e := l.waiting.Front(); e != nil && l.bytes > mostBytes; {
		other, next := e.Value.(*passage), e.Next() //nolint:forcetypeassert // nothing else is in there
		if other != p && other.bytes > 0 {
			other.evict()
		}
		e = next
	}
	if l.bytes > mostBytes {
		p.refuse()
	}
	return !p.refused
}

// refuse counts a review no longer: its body is thrown away. The mutex is held.
func (p *passage) refuse() {
	p.refused = true
	p.limiter.bytes -= p.bytes
	p.bytes = 0
}

// evict refuses a review whose client is slow. The mutex is held.
func (p *passage) evict() {
	p.refuse()
	p.proceed()
	_ = p.end(time.Unix(1, 0)) // on a connection that is already gone, there is nothing to end
}

// begin takes a slot, if one is free.
func (l *limiter) begin(p *passage) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if p.refused || l.most > 0 && l.working >= l.most {
		return false
	}
	p.proceed()
	p.working = true
	l.working++
	p.connection.busy(true)
	return true
}

// answer gives the slot back before the client gets the answer: the work is done, and the client may be slow to read.
type answer struct {
	http.ResponseWriter

	passage    *passage
	controller *http.ResponseController
}

func (a *answer) Write(text []byte) (int, error) {
	a.passage.answered(a.controller)
	return a.ResponseWriter.Write(text)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (p *passage) answered(controller *http.ResponseController) {
	p.limiter.mutex.Lock()
	defer p.limiter.mutex.Unlock()
	if p.working {
		p.finish()
		p.wait(controller.SetWriteDeadline)
	}
}

type connectionKey struct{}

// connectionOf returns the connection that a request came on, nil where the server has not recorded it.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}
