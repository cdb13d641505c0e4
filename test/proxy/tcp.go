// Package proxy stands between a client and a real API server, and breaks what passes between them as networks and load
// balancers do.
package proxy

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// TCP passes on connections until it is told to do something else. The client sees the API server's own TLS.
type TCP struct {
	// Address is where it listens, as host:port.
	Address string

	target string
	mutex  sync.Mutex
	silent bool
	cut    bool
	gate   *sync.Cond
	open   map[net.Conn]struct{}
}

// StartTCP starts a proxy in front of host:port, which ends with the test.
func StartTCP(t *testing.T, target string) *TCP {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &TCP{Address: listener.Addr().String(), target: target, open: map[net.Conn]struct{}{}}
	p.gate = sync.NewCond(&p.mutex)
	t.Cleanup(func() {
		_ = listener.Close()
		p.Cut()
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(t.Context(), client)
		}
	}()
	return p
}

// Pass passes on everything again; what was held back as well.
func (p *TCP) Pass() { p.set(false, false) }

// Silence accepts connections and passes on nothing: no byte, and no end.
func (p *TCP) Silence() { p.set(true, false) }

// Cut ends all connections, and every new one at once.
func (p *TCP) Cut() {
	p.set(false, true)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for connection := range p.open {
		_ = connection.Close()
	}
}

func (p *TCP) set(silent, cut bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.silent, p.cut = silent, cut
	p.gate.Broadcast()
}

// enter waits as long as the proxy is silent, and reports whether it passes on.
func (p *TCP) enter(connections ...net.Conn) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for p.silent {
		p.gate.Wait()
	}
	for _, connection := range connections {
		p.open[connection] = struct{}{}
	}
	return !p.cut
}

func (p *TCP) pass(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	if !p.enter(client) {
		return
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", p.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	if !p.enter(server) {
		return
	}
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			defer func() { done <- struct{}{} }()
			_, _ = io.Copy(way[1], gated{p, way[0]})
		}()
	}
	<-done
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.open, client)
	delete(p.open, server)
}

// gated reads from a connection, and hands on what was read when the proxy passes on.
type gated struct {
	proxy *TCP
	net.Conn
}

func (g gated) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if !g.proxy.enter() {
		return 0, io.ErrClosedPipe
	}
	return n, err
}
