package webhook_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
)

func TestAShedReviewIsAllowedUnmodifiedWithItsUID(t *testing.T) {
	good := update(csa, scaledBy7(), applied3()).body()
	for sentence, c := range map[string]struct{ body, uid string }{
		"a review":                      {good, "review-uid"},
		"a uid at the end":              {reviewOf(`{"object":{"uid":"no"},"oldObject":[{"uid":"no"}],"uid":"review-uid"}`), "review-uid"},
		"a uid with escapes":            {reviewOf(`{"uid":"a\u0062\"c"}`), `ab"c`},
		"a uid of another object":       {reviewOf(`{"object":{"metadata":{"uid":"no"}}}`), ""},
		"a uid that is a number":        {reviewOf(`{"uid":1}`), ""},
		"a uid outside of the request":  {`{"uid":"no"}`, ""},
		"a request that is a list":      {reviewOf(`["uid","no"]`), ""},
		"an object that does not close": {`{"request":{"object":{`, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, &fakeCluster{panics: "the cluster must not be queried"})
			recorder := httptest.NewRecorder()
			s.Shed(recorder, []byte(c.body))
			response := allowed(t, recorder.Code, recorder.Body.Bytes())
			want := []string{"handoff: skipped, too many reviews in flight: the write was not modified"}
			expect.Equal(t, "warnings", want, response.Warnings)
			expect.Equal(t, "patch", []byte(nil), response.Patch)
			expect.Equal(t, "uid", c.uid, string(response.UID))
			expect.Equal(t, "handoff_failed_open_total of shed", 1.0, s.counted(t, "handoff_failed_open_total", map[string]string{"reason": "shed"}))
		})
	}
}

// A client that sends too many reviews must not fill the log.
func TestShedReviewsAreLoggedOnce(t *testing.T) {
	s := newServer(t, enforced())
	body := []byte(update(csa, scaledBy7(), applied3()).body())
	for range 1000 {
		s.Shed(httptest.NewRecorder(), body)
	}
	if n := strings.Count(s.logged(), "\n"); n > 1 || !strings.Contains(s.logged(), "too many reviews in flight") {
		t.Errorf("want one line, got:\n%s", s.logged())
	}
	expect.Equal(t, "handoff_failed_open_total of shed", 1000.0, s.counted(t, "handoff_failed_open_total", map[string]string{"reason": "shed"}))
}
