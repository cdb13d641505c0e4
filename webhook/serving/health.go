package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// Check is a readiness check. Its functions may be called at any time and do not block.
type Check struct {
	Name string
	// Ready returns the reason if the check fails.
	Ready func() error
	// Warning returns a problem that does not prevent reviews from being answered, if there is one. It is optional.
	Warning func() error
}

// problem returns the reason if the check fails, else its warning.
func (c Check) problem() (problem error, fails bool) {
	if err := c.Ready(); err != nil {
		return err, true
	}
	if c.Warning == nil {
		return nil, false
	}
	return c.Warning(), false
}

// Health serves health probes. /healthz reports that the process is alive. /readyz reports whether reviews should be sent to it
// and, unlike controller-runtime's, why not. /readyz/NAME runs a single check, and /readyz?verbose lists all checks even if
// they have no problem.
type Health struct {
	checks []Check
	log    logr.Logger
	mutex  sync.Mutex
	logged string // the last state that was logged
}

// NewHealth returns a Health with these checks.
func NewHealth(log logr.Logger, checks ...Check) *Health {
	h := &Health{checks: slices.Clone(checks), log: log, logged: "ok"}
	slices.SortFunc(h.checks, func(a, b Check) int { return strings.Compare(a.Name, b.Name) })
	return h
}

// Metrics returns the metrics of the checks.
func (h *Health) Metrics() (metrics []prometheus.Collector) {
	for _, check := range h.checks {
		metrics = append(metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "handoff_check_problem", ConstLabels: prometheus.Labels{"check": check.Name},
			Help: "1 while a readiness check has a problem, even if the pod is ready nevertheless; otherwise 0.",
		}, func() float64 {
			if problem, _ := check.problem(); problem != nil {
				return 1
			}
			return 0
		}))
	}
	return metrics
}

// ServeHTTP responds to a probe.
func (h *Health) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	path, name, _ := strings.Cut(strings.Trim(req.URL.Path, "/"), "/")
	checks := slices.DeleteFunc(slices.Clone(h.checks), func(c Check) bool { return name != "" && c.Name != name })
	switch {
	case path == "healthz":
		_, _ = fmt.Fprintln(w, "ok")
	case path != "readyz" || name != "" && len(checks) == 0:
		http.NotFound(w, req)
	default:
		failures := report(w, checks, req.URL.Query().Has("verbose"))
		if name == "" {
			h.logChange(failures)
		}
	}
}

// report responds with the results of checks, and returns the failures.
func report(w http.ResponseWriter, checks []Check, verbose bool) (failures []string) {
	var lines []string
	for _, check := range checks {
		problem, fails := check.problem()
		switch {
		case fails:
			failures = append(failures, check.Name+": "+problem.Error())
			lines = append(lines, "[-]"+check.Name+": "+problem.Error())
		case problem != nil:
			verbose = true
			lines = append(lines, "[!]"+check.Name+": "+problem.Error())
		default:
			lines = append(lines, "[+]"+check.Name+" ok")
		}
	}
	status := "ok"
	if failures != nil {
		status = "not ready"
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if verbose || failures != nil {
		_, _ = fmt.Fprintln(w, strings.Join(lines, "\n"))
	}
	_, _ = fmt.Fprintln(w, status)
	return failures
}

// logChange logs the result of a probe if it differs from the last one.
func (h *Health) logChange(failures []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	text := cmp.Or(strings.Join(failures, "; "), "ok")
	switch {
	case text == h.logged:
	case failures != nil:
		h.log.Info("not ready", "reason", text)
	default:
		h.log.Info("ready")
	}
	h.logged = text
}

// Plain returns a function that serves health probes or metrics over HTTP until its context is done. An empty address or "0" serves nothing.
func Plain(address string, handler http.Handler, log logr.Logger) func(context.Context) error {
	server := &http.Server{Handler: handler, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, MaxHeaderBytes: headerLimit}
	return func(ctx context.Context) error {
		if address == "" || address == "0" {
			return nil
		}
		port, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err == nil {
			defer context.AfterFunc(ctx, func() { _ = server.Close() })()
			err = server.Serve(listener{port, newConnections(plainConnections, log)})
		}
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("serving HTTP: %w", err)
	}
}
