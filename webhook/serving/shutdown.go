package serving

import (
	"context"
	"net/http"
)

// drain closes the port and waits for the reviews in flight. It aborts a review that exceeds the drain timeout: the kubelet
// would kill the process anyway.
func (s *Server) drain(ctx context.Context) {
	s.options.Log.Info("draining: port closed, waiting for requests in flight", "timeout", s.options.DrainTimeout.String())
	ctx, cancel := context.WithTimeout(ctx, s.options.DrainTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.options.Log.Error(err, "drain timeout exceeded, aborting the requests in flight")
		_ = s.http.Close() // the process ends anyway
		return
	}
	s.options.Log.Info("drained: all requests completed")
}

// closing makes each response during the shutdown the last on its connection. The drain then finds no idle connections: a
// request that a client sends while the server closes an idle connection would be lost.
func (s *Server) closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.shuttingDown.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, req)
	})
}
