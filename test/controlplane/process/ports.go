package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are chosen below the range from which Linux takes the local ports of outgoing connections (32768 to 60999), because
// between the choice and the start of a server another test's client could otherwise get the port.
const (
	lowestPort   = 10000
	beyondPorts  = 32768
	portAttempts = 1000
)

// FreePorts returns n different ports on which nothing listens, on any address, and which no outgoing connection gets.
//
// It keeps all ports open until it has found all of them. They are random, so that test processes that choose at the same time
// hardly ever choose the same.
func FreePorts(n int) (ports []int, err error) {
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners {
			err = errors.Join(err, listener.Close())
		}
	}()
	for attempt := 0; len(ports) < n; attempt++ {
		port := lowestPort + rand.IntN(beyondPorts-lowestPort)
		listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port)) //nolint:noctx // it does not block
		if err != nil {
			if attempt > portAttempts {
				return nil, fmt.Errorf("finding a free port: %w", err)
			}
			continue
		}
		listeners = append(listeners, listener)
		ports = append(ports, port)
	}
	return ports, nil
}
