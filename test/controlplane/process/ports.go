package process

import (
	"errors"
	"fmt"
	"net"
)

// FreePorts are n different ports of 127.0.0.1 on which nobody listens.
//
// All are held until all are found, since a port that is given back at once may be handed out again.
func FreePorts(n int) (ports []int, err error) {
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			err = errors.Join(err, listener.Close())
		}
	}()
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it never waits
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		held = append(held, listener)
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("find a free port: %v has none", listener.Addr())
		}
		ports = append(ports, address.Port)
	}
	return ports, nil
}
