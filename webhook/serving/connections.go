package serving

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
)

// A connection takes some 40 KiB, whoever has opened it and whatever it does. These are how many there may be.
const (
	fewestConnections = 1024
	probeConnections  = 64
)

// connections bounds the connections of a server. When there are too many, one is closed that no review is worked on for:
// of the address with the most of them, the one that has been quiet for the longest time. So a client that opens many
// closes its own, and a connection that has just been opened has time to send a review.
type connections struct {
	most    int
	log     logr.Logger
	closing ratelimit.Log

	mutex     sync.Mutex
	open      map[*connection]struct{}
	addresses map[string]int
}

func newConnections(most int, log logr.Logger) *connections {
	return &connections{most: most, log: log, open: map[*connection]struct{}{}, addresses: map[string]int{}}
}

// connection is one of them. Its fields belong to the mutex of connections.
type connection struct {
	net.Conn

	all     *connections
	address string
	active  time.Time
	working bool
}

// listener is a listener whose connections are bounded.
type listener struct {
	net.Listener

	connections *connections
}

func (l listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.connections.add(accepted), nil
}

func (all *connections) add(accepted net.Conn) *connection {
	c := &connection{Conn: accepted, all: all, address: accepted.RemoteAddr().String(), active: time.Now()}
	if host, _, err := net.SplitHostPort(c.address); err == nil {
		c.address = host
	}
	all.mutex.Lock()
	all.open[c] = struct{}{}
	all.addresses[c.address]++
	var surplus *connection
	if len(all.open) > all.most {
		surplus = all.quietest(c)
	}
	all.mutex.Unlock()
	if surplus != nil {
		all.closing.Do(10*time.Second, func(times int) {
			all.log.Info("too many connections: the quietest is closed", "most", all.most, "address", surplus.address,
				"since the last line", times)
		})
		_ = surplus.Close()
	}
	return c
}

// quietest returns the connection to close in favor of a new one, nil where a review is worked on for each. The mutex is
// held.
func (all *connections) quietest(favored *connection) *connection {
	var found *connection
	for c := range all.open {
		if c == favored || c.working {
			continue
		}
		if found == nil || all.before(c, found) {
			found = c
		}
	}
	return found
}

// before reports whether one connection is to be closed before another. The mutex is held.
func (all *connections) before(a, b *connection) bool {
	if n, m := all.addresses[a.address], all.addresses[b.address]; n != m {
		return n > m
	}
	return a.active.Before(b.active)
}

// changed is called by the server when a request begins on a connection, or has ended (http.Server.ConnState).
func (*connections) changed(conn net.Conn, _ http.ConnState) {
	if c := recorded(conn); c != nil {
		c.all.mutex.Lock()
		defer c.all.mutex.Unlock()
		c.active = time.Now()
	}
}

// recorded returns the connection beneath one of the server's.
func recorded(conn net.Conn) *connection {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	c, _ := conn.(*connection)
	return c
}

// withConnection is http.Server.ConnContext.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, recorded(conn))
}

// busy records whether a review is worked on for a connection, nil for one that is not recorded.
func (c *connection) busy(working bool) {
	if c == nil {
		return
	}
	c.all.mutex.Lock()
	defer c.all.mutex.Unlock()
	c.working, c.active = working, time.Now()
}

// Close may be called by the server and by add, in any order.
func (c *connection) Close() error {
	c.all.mutex.Lock()
	if _, open := c.all.open[c]; open {
		delete(c.all.open, c)
		c.all.addresses[c.address]--
		if c.all.addresses[c.address] == 0 {
			delete(c.all.addresses, c.address)
		}
	}
	c.all.mutex.Unlock()
	return c.Conn.Close()
}
