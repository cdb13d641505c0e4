package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
)

// Check is one of the things that readiness depends on. Ready may be called at any time, and does not wait.
type Check struct {
	Name  string
	Ready func() error
}

// Health answers /healthz, which says that the process lives, and /readyz, which says whether reviews are to be sent to
// it, and if not why: in full, other than controller-runtime's, which withholds the reason. /readyz/NAME is one check
// alone, and /readyz?verbose lists all of them when all is well, too.
type Health struct {
	checks []Check
	log    logr.Logger
	mutex  sync.Mutex
	said   string
}

// NewHealth returns the health that these checks make.
func NewHealth(log logr.Logger, checks ...Check) *Health {
	h := &Health{checks: slices.Clone(checks), log: log, said: "ok"}
	slices.SortFunc(h.checks, func(a, b Check) int { return strings.Compare(a.Name, b.Name) })
	return h
}

// ServeHTTP answers a probe.
func (h *Health) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	path, name, _ := strings.Cut(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case path == "healthz":
		_, _ = fmt.Fprintln(w, "ok")
	case path == "readyz" && name == "":
		h.readiness(w, req.URL.Query().Has("verbose"))
	case path == "readyz":
		h.one(w, req, name)
	default:
		http.NotFound(w, req)
	}
}

func (h *Health) readiness(w http.ResponseWriter, verbose bool) {
	var lines, failures []string
	for _, check := range h.checks {
		if err := check.Ready(); err != nil {
			failures = append(failures, check.Name+": "+err.Error())
			lines = append(lines, "[-]"+check.Name+": "+err.Error())
			continue
		}
		lines = append(lines, "[+]"+check.Name+" ok")
	}
	h.say(failures)
	verdict := "ok"
	if failures != nil {
		verdict = "not ready"
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if verbose || failures != nil {
		_, _ = fmt.Fprintln(w, strings.Join(lines, "\n"))
	}
	_, _ = fmt.Fprintln(w, verdict)
}

// say logs what a probe was told when it is something new.
func (h *Health) say(failures []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	text := "ok"
	if failures != nil {
		text = strings.Join(failures, "; ")
	}
	switch {
	case text == h.said:
	case failures != nil:
		h.log.Info("not ready", "reason", text)
	default:
		h.log.Info("ready")
	}
	h.said = text
}

func (h *Health) one(w http.ResponseWriter, req *http.Request, name string) {
	i := slices.IndexFunc(h.checks, func(c Check) bool { return c.Name == name })
	if i < 0 {
		http.NotFound(w, req)
		return
	}
	if err := h.checks[i].Ready(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

// Run answers probes at an address until the context ends; "0" and no address mean not at all.
func (h *Health) Run(ctx context.Context, address string) error {
	if address == "" || address == "0" {
		return nil
	}
	port, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("answering probes: %w", err)
	}
	bounded := newConnections(probeConnections, h.log)
	server := &http.Server{
		Handler: h, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, MaxHeaderBytes: headerLimit, ConnState: bounded.changed,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener{port, bounded}); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answering probes: %w", err)
	}
	return nil
}
