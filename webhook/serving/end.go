package serving

import (
	"context"
	"net/http"
)

// drain closes the port and waits for the reviews in flight. One that takes too long is cut: whoever ends this process
// would not wait for it either.
func (s *Server) drain(ctx context.Context) {
	s.options.Log.Info("draining: no new connections, requests in flight are finished", "timeout", s.options.DrainTimeout.String())
	ctx, cancel := context.WithTimeout(ctx, s.options.DrainTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.options.Log.Error(err, "requests were still in flight at the end of the drain timeout, and are cut")
		_ = s.http.Close() // the process ends anyway
		return
	}
	s.options.Log.Info("drained: no request was cut")
}

// closing makes each answer after the end has come the last on its connection. At the drain no connection is then left
// idle, on which a request could be lost between the two ends.
func (s *Server) closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, req)
	})
}
