package serving_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/webhook/serving"
)

func TestHealthSaysWhatIsNotReadyAndWhy(t *testing.T) {
	fine := serving.Check{Name: "fine", Ready: func() error { return nil }}
	broken := serving.Check{Name: "broken", Ready: func() error { return errors.New("namespaces is forbidden") }}
	for sentence, c := range map[string]struct {
		checks []serving.Check
		path   string
		status int
		body   string
	}{
		"it lives, whatever else":     {[]serving.Check{broken}, "/healthz", 200, "ok\n"},
		"all is well":                 {[]serving.Check{fine}, "/readyz", 200, "ok\n"},
		"all is well, in detail":      {[]serving.Check{fine}, "/readyz?verbose", 200, "[+]fine ok\n" + "ok\n"},
		"one is broken":               {[]serving.Check{fine, broken}, "/readyz", 503, "[-]broken: namespaces is forbidden\n[+]fine ok\nnot ready\n"},
		"one is broken, in detail":    {[]serving.Check{fine, broken}, "/readyz?verbose", 503, "[-]broken: namespaces is forbidden\n[+]fine ok\nnot ready\n"},
		"the broken one alone":        {[]serving.Check{fine, broken}, "/readyz/broken", 503, "namespaces is forbidden\n"},
		"another one alone":           {[]serving.Check{fine, broken}, "/readyz/fine", 200, "ok\n"},
		"one that there is not":       {[]serving.Check{fine}, "/readyz/other", 404, "404 page not found\n"},
		"something else":              {[]serving.Check{fine}, "/metrics", 404, "404 page not found\n"},
		"a slash at the end, as well": {[]serving.Check{fine}, "/readyz/", 200, "ok\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := serving.NewHealth(funcr.New(func(string, string) {}, funcr.Options{}), c.checks...)
			recorder := httptest.NewRecorder()
			h.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, http.NoBody))
			if diff := cmp.Diff(c.body, recorder.Body.String()); diff != "" || recorder.Code != c.status {
				t.Errorf("want %d, got %d (-want +got):\n%s", c.status, recorder.Code, diff)
			}
		})
	}
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
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", strings.TrimSpace(diff))
	}
}
