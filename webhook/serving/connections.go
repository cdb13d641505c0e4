package serving

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
)

// Connection limits. A connection takes about 40 KiB, also if it is idle, and up to 150 KiB while it has sent headers.
const (
	minConnections   = 512 // lower bound of the limit for the webhook port
	plainConnections = 64
)

// connections limits the number of connections of a server. Above the limit, it closes a connection for which no review is being
// processed: of the address with the most connections, the one that has been idle longest. So a client with many connections
// loses its own, and a new connection has time to send a review.
type connections struct {
	limit   int
	log     logr.Logger
	closing ratelimit.Log

	mutex sync.Mutex
	open  map[*connection]struct{}
}

func newConnections(limit int, log logr.Logger) *connections {
	return &connections{limit: limit, log: log, open: map[*connection]struct{}{}}
}

// connection is an open connection. Its fields are guarded by the mutex of connections.
type connection struct {
	net.Conn

	all     *connections
	address string
	active  time.Time // when it was opened, or when its last review began or ended
	working bool      // a review is being processed for it
}

// listener limits the connections of a net.Listener.
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
	var surplus *connection
	if len(all.open) > all.limit {
		surplus = all.longestIdle(c)
	}
	all.mutex.Unlock()
	if surplus != nil {
		all.closing.Do(10*time.Second, func(times int) {
			all.log.Info("too many connections, closed an idle one", "limit", all.limit, "address", surplus.address,
				"sinceLastLog", times)
		})
		_ = surplus.Close()
	}
	return c
}

// longestIdle returns the connection to close after a new one was added, nil if a review is being processed for each. The caller
// must hold the mutex.
func (all *connections) longestIdle(added *connection) (longest *connection) {
	number := map[string]int{} // by address
	for c := range all.open {
		number[c.address]++
	}
	for c := range all.open {
		if c == added || c.working {
			continue
		}
		if longest == nil || cmp.Or(number[c.address]-number[longest.address], longest.active.Compare(c.active)) > 0 {
			longest = c
		}
	}
	return longest
}

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// withConnection adds the connection to the context of its requests (http.Server.ConnContext).
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// setWorking records whether a review is being processed for the connection, which may be nil.
func (c *connection) setWorking(working bool) {
	if c == nil {
		return
	}
	c.all.mutex.Lock()
	defer c.all.mutex.Unlock()
	c.working, c.active = working, time.Now()
}

// Close closes the connection. Both the server and add may call it, in any order.
func (c *connection) Close() error {
	c.all.mutex.Lock()
	delete(c.all.open, c)
	c.all.mutex.Unlock()
	return c.Conn.Close()
}
