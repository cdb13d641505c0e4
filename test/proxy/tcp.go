// Package proxy provides proxies for a real API server that simulate failures of networks and load balancers.
package proxy

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// TCP is a proxy that forwards connections, unless one of its methods changes that. It does not terminate TLS.
type TCP struct {
	// Address is the proxy's address, as host:port.
	Address string

	target func() string
	mutex  sync.Mutex
	silent bool
	cut    bool
	gate   *sync.Cond
	open   map[net.Conn]struct{}
}

// StartTCP starts a proxy for host:port. It is stopped when the test ends.
func StartTCP(t *testing.T, target string) *TCP {
	t.Helper()
	return StartBalancer(t, func() string { return target })
}

// StartBalancer starts a proxy that forwards each new connection to the host:port that pick returns at that moment, as a Service
// does. If that is empty, it closes the connection. Connections stay open when pick returns another target.
func StartBalancer(t *testing.T, pick func() string) *TCP {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &TCP{Address: listener.Addr().String(), target: pick, open: map[net.Conn]struct{}{}}
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

// Pass forwards everything again, including the data that Silence has delayed.
func (p *TCP) Pass() { p.set(false, false) }

// Silence accepts connections but forwards nothing: neither data nor the end of a connection.
func (p *TCP) Silence() { p.set(true, false) }

// Cut closes all connections, and closes each new one immediately.
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

// enter waits while the proxy is silent, and reports whether it forwards.
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
	target := p.target()
	if target == "" {
		return
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", target)
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

// gated reads from a connection, and returns the data when the proxy forwards.
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
