package process

import (
	"errors"
	"fmt"
	"net"
)

// FreePorts returns n different free ports of 127.0.0.1.
//
// It keeps all ports open until it has found all of them, because a closed port may be returned again.
func FreePorts(n int) (ports []int, err error) {
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners {
			err = errors.Join(err, listener.Close())
		}
	}()
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		listeners = append(listeners, listener)
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("finding a free port: %v has no port", listener.Addr())
		}
		ports = append(ports, address.Port)
	}
	return ports, nil
}
