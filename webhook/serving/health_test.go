package serving_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	"github.com/ownership-handoff/handoff/webhook/serving"
)

func TestProbesReportFailedChecksWithTheReason(t *testing.T) {
	fine := serving.Check{Name: "fine", Ready: func() error { return nil }}
	broken := serving.Check{Name: "broken", Ready: func() error { return errors.New("namespaces is forbidden") }}
	doubtful := serving.Check{Name: "doubtful", Ready: fine.Ready, Warning: broken.Ready}
	for sentence, c := range map[string]struct {
		checks []serving.Check
		path   string
		status int
		body   string
	}{
		"alive with a broken check": {[]serving.Check{broken}, "/healthz", 200, "ok\n"},
		"all checks pass":           {[]serving.Check{fine}, "/readyz", 200, "ok\n"},
		"all checks pass, verbose":  {[]serving.Check{fine}, "/readyz?verbose", 200, "[+]fine ok\n" + "ok\n"},
		"one check fails":           {[]serving.Check{fine, broken}, "/readyz", 503, "[-]broken: namespaces is forbidden\n[+]fine ok\nnot ready\n"},
		"one check fails, verbose":  {[]serving.Check{fine, broken}, "/readyz?verbose", 503, "[-]broken: namespaces is forbidden\n[+]fine ok\nnot ready\n"},
		"only the failing check":    {[]serving.Check{fine, broken}, "/readyz/broken", 503, "[-]broken: namespaces is forbidden\nnot ready\n"},
		"only the passing check":    {[]serving.Check{fine, broken}, "/readyz/fine", 200, "ok\n"},
		"one check warns":           {[]serving.Check{fine, doubtful}, "/readyz", 200, "[!]doubtful: namespaces is forbidden\n[+]fine ok\n" + "ok\n"},
		"only the warning check":    {[]serving.Check{fine, doubtful}, "/readyz/doubtful", 200, "[!]doubtful: namespaces is forbidden\n" + "ok\n"},
		"a check without a warning": {[]serving.Check{{Name: "fine", Ready: fine.Ready, Warning: fine.Ready}}, "/readyz", 200, "ok\n"},
		"an unknown check":          {[]serving.Check{fine}, "/readyz/other", 404, "404 page not found\n"},
		"an unknown path":           {[]serving.Check{fine}, "/metrics", 404, "404 page not found\n"},
		"a trailing slash":          {[]serving.Check{fine}, "/readyz/", 200, "ok\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := serving.NewHealth(funcr.New(func(string, string) {}, funcr.Options{}), c.checks...)
			recorder := httptest.NewRecorder()
			h.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, http.NoBody))
			expect.Equal(t, "status", c.status, recorder.Code)
			expect.Equal(t, "body", c.body, recorder.Body.String())
		})
	}
}

func TestChecksWithAProblemAreCounted(t *testing.T) {
	passes, problem := func() error { return nil }, func() error { return errors.New("a problem") }
	h := serving.NewHealth(logr.Discard(), serving.Check{Name: "fine", Ready: passes, Warning: passes},
		serving.Check{Name: "fails", Ready: problem}, serving.Check{Name: "warns", Ready: passes, Warning: problem})
	registry := prometheus.NewRegistry()
	for _, metric := range h.Metrics() {
		expect.NoError(t, registry.Register(metric))
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatal(families, err)
	}
	got := map[string]float64{}
	for _, metric := range families[0].GetMetric() {
		got[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
	}
	expect.Equal(t, families[0].GetName(), map[string]float64{"fails": 1, "fine": 0, "warns": 1}, got)
}

func TestReadinessIsLoggedWhenItChanges(t *testing.T) {
	var lines []string
	var problem error
	h := serving.NewHealth(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}),
		serving.Check{Name: "caches", Ready: func() error { return problem }})
	for _, next := range []error{nil, nil, errors.New("one"), errors.New("one"), errors.New("two"), nil, nil} {
		problem = next
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
	}
	want := []string{
		`"level"=0 "msg"="not ready" "reason"="caches: one"`, `"level"=0 "msg"="not ready" "reason"="caches: two"`, `"level"=0 "msg"="ready"`,
	}
	expect.Equal(t, "log", want, lines)
}

// TestLongHeadersAreRefused is about the port of metrics and probes, which any pod can reach: headers take many times their size.
func TestLongHeadersAreRefused(t *testing.T) {
	t.Parallel()
	ports, err := process.FreePorts(1)
	expect.NoError(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serving.Plain(address, http.NotFoundHandler(), logr.Discard())(ctx) }()
	status := func(length int) int {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, http.NoBody)
		expect.NoError(t, err)
		request.Header.Set("X", strings.Repeat("x", length))
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		expect.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	eventually(t, "the port answers", func() bool { return status(1000) == http.StatusNotFound })
	expect.Equal(t, "status of a request with 8 KB of headers", http.StatusRequestHeaderFieldsTooLarge, status(8<<10))
	end()
	expect.NoError(t, <-ended)
}
