package serving

import (
	"cmp"
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
)

// Connection limits. A connection takes about 40 KiB, also if it is idle.
const (
	minConnections   = 1024 // lower bound of the limit for the webhook port
	probeConnections = 64
)

// connections limits the number of connections of a server. Above the limit, it closes a connection for which no review is being
// processed: of the address with the most connections, the one that has been idle longest. So a client with many connections
// loses its own, and a new connection has time to send a review.
type connections struct {
	limit   int
	log     logr.Logger
	closing ratelimit.Log

	mutex     sync.Mutex
	open      map[*connection]struct{}
	addresses map[string]int
}

func newConnections(limit int, log logr.Logger) *connections {
	return &connections{limit: limit, log: log, open: map[*connection]struct{}{}, addresses: map[string]int{}}
}

// connection is an open connection. Its fields are guarded by the mutex of connections.
type connection struct {
	net.Conn

	all     *connections
	address string
	active  time.Time
	working bool
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
	all.addresses[c.address]++
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
func (all *connections) longestIdle(added *connection) *connection {
	idle := slices.Collect(maps.Keys(all.open))
	idle = slices.DeleteFunc(idle, func(c *connection) bool { return c == added || c.working })
	if len(idle) == 0 {
		return nil
	}
	return slices.MinFunc(idle, func(a, b *connection) int {
		return cmp.Or(cmp.Compare(all.addresses[b.address], all.addresses[a.address]), a.active.Compare(b.active))
	})
}

// changed records activity on a connection (http.Server.ConnState).
func (*connections) changed(conn net.Conn, _ http.ConnState) {
	if c := recorded(conn); c != nil {
		c.all.mutex.Lock()
		defer c.all.mutex.Unlock()
		c.active = time.Now()
	}
}

// recorded returns the connection that a TLS connection wraps, nil if it was not accepted by listener.
func recorded(conn net.Conn) *connection {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	c, _ := conn.(*connection)
	return c
}

// connectionKey is the key of a request's connection in its context, which is nil if it was not accepted by listener.
type connectionKey struct{}

// withConnection adds the connection to the context of its requests (http.Server.ConnContext).
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, recorded(conn))
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
