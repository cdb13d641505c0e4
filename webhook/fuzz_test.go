package webhook_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// recorded returns the reviews in testdata/reviews, none where there are none.
func recorded(tb testing.TB) map[string][]byte {
	tb.Helper()
	folder := os.DirFS(filepath.Join("testdata", "reviews"))
	files, err := fs.Glob(folder, "*.json")
	expect.NoError(tb, err)
	reviews := map[string][]byte{}
	for _, file := range files {
		body, err := fs.ReadFile(folder, file)
		expect.NoError(tb, err)
		reviews[strings.TrimSuffix(file, ".json")] = body
	}
	return reviews
}

// FuzzHandler sends whatever can be sent: the write is always allowed, and a patch changes only what it may (see checkPatch).
func FuzzHandler(f *testing.F) {
	for _, body := range seeds(f) {
		f.Add(body)
	}
	handler := newServer(f, enforcedEverywhere())
	f.Fuzz(func(t *testing.T, body []byte) { handler.fuzz(t, body) })
}

func (s *server) fuzz(t *testing.T, body []byte) {
	t.Helper()
	s.forget()
	response := checkResponse(t, s, body)
	if response.Patch != nil {
		checkResponse(t, s, resend(t, body, response))
	}
}

// seeds returns the reviews from which the fuzzer starts.
func seeds(f *testing.F) (bodies [][]byte) {
	f.Helper()
	for _, body := range recorded(f) {
		if len(body) < 10_000 { // the fuzzer gets nowhere with longer ones
			bodies = append(bodies, body)
		}
	}
	for _, r := range []request{
		update(csa, scaledBy7(), applied3()), update(csa, kept7(), applied3()), update("", scaledBy7(), applied3()),
		update("kubectl-patch", scaledBy7(), patched1()), update("helm", scaledBy7(), applied3()),
		{
			version: "v1", uid: "u", operation: "UPDATE", kind: "Gadget", manager: "helm",
			oldObject: `{"metadata":{"managedFields":[` + entry("x", "Update", early, `{"f:spec":{"f:pool":{"f:size":{}}}}`, "") + `]},"spec":{"pool":{"size":7}}}`,
			object:    `{"metadata":{},"spec":{"pool":{"size":3}}}`,
		},
	} {
		bodies = append(bodies, []byte(r.body()))
	}
	bodies = append(bodies, []byte(changed(update(csa, scaledBy7(), applied3()), func(r *request) { r.operation, r.oldObject = "CREATE", "null" }).body()))
	for _, c := range brokenReviews() {
		if len(c.body) < 10_000 {
			bodies = append(bodies, []byte(c.body))
		}
	}
	return bodies
}

// forget clears the log and the recorded Events.
func (s *server) forget() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.log.Reset()
	s.events = nil
}
