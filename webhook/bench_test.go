package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

// BenchmarkHandler measures the whole handler on recorded reviews of about 30 KB, without rules, with 200 rules for other kinds, and with four for
// the kind of the object. make bench BASE=main compares it with that of another commit.
func BenchmarkHandler(b *testing.B) {
	for _, what := range []struct{ sentence, review string }{
		{"nothing-to-do", "large-nothing-to-do"},
		{"kept", "large-kept"},
		{"kept-and-nothing-else", "large-kept-and-nothing-else"},
	} {
		b.Run(what.sentence, func(b *testing.B) {
			handoff, body := recordedServer(b, what.review)
			b.Run("handoff", func(b *testing.B) { serveRepeatedly(b, handoff, body) })
			handoff.Rules = rulesFor(b, 200, "Kind%d")
			b.Run("200-rules", func(b *testing.B) { serveRepeatedly(b, handoff, body) })
			handoff.Rules = rulesFor(b, 4, "Deployment")
			b.Run("4-rules", func(b *testing.B) { serveRepeatedly(b, handoff, body) })
		})
	}
}

// TestRulesForOtherKindsCostNothing counts allocations, which are the same however busy the machine is.
func TestRulesForOtherKindsCostNothing(t *testing.T) {
	handoff, body := recordedServer(t, "large-kept")
	cost := func() float64 { return testing.AllocsPerRun(20, func() { post(handoff, string(body)) }) }
	without := cost()
	handoff.Rules = rulesFor(t, 200, "Kind%d")
	if with := cost(); with > 1.05*without {
		t.Errorf("%.0f allocations with 200 rules, %.0f without: want at most 1.05 times", with, without)
	}
	handoff.Rules = rulesFor(t, 200, "Deployment")
	if with := cost(); with < 1.05*without {
		t.Errorf("%.0f allocations with 200 rules for the kind of the object, %.0f without: the test sees no rule", with, without)
	}
}

// recordedServer returns a server and a recorded review of a write in a namespace with an autoscaler.
func recordedServer(tb testing.TB, review string) (*server, []byte) {
	tb.Helper()
	body := recorded(tb)[review]
	if body == nil {
		tb.Fatalf("no review %s was recorded", review)
	}
	handoff := newServer(tb, &fakeCluster{modes: map[string]string{review: "enforce"}, autoscaler: "HorizontalPodAutoscaler/web"})
	handoff.Log, handoff.Events = encodedLog(), &events.FakeRecorder{}
	return handoff, body
}

// rulesFor returns n rules for kinds of group apps whose names have the format.
func rulesFor(tb testing.TB, n int, format string) ownership.Rules {
	tb.Helper()
	rules := make([]ownership.Rule, n)
	for i := range rules {
		field, err := ownership.ParsePattern(fmt.Sprintf(".spec.template.spec.containers[*].field%d", i))
		expect.NoError(tb, err)
		kind := strings.Replace(format, "%d", strconv.Itoa(i), 1)
		rules[i] = ownership.Rule{
			Name: fmt.Sprintf("rule-%d", i), Kinds: []schema.GroupKind{{Group: "apps", Kind: kind}}, Fields: []ownership.Pattern{field}, Writers: []string{"writer"},
			Edit: ownership.EditApply,
		}
	}
	return ownership.NewRules(rules...)
}

// serveRepeatedly sends the same review, without a connection.
func serveRepeatedly(b *testing.B, handler http.Handler, body []byte) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	reader := bytes.NewReader(body)
	request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/mutate", io.NopCloser(reader))
	request.Header.Set("Content-Type", "application/json")
	request.ContentLength = int64(len(body))
	answer := httptest.NewRecorder()
	for b.Loop() {
		reader.Reset(body)
		answer.Body.Reset()
		handler.ServeHTTP(answer, request)
	}
	if answer.Code != http.StatusOK {
		b.Errorf("status %d: %s", answer.Code, answer.Body)
	}
}

// encodedLog returns the production logger, whose lines are encoded and discarded. The log level turns off sampling, which would
// hide the cost of a line.
func encodedLog() logr.Logger {
	return zap.New(zap.WriteTo(io.Discard), zap.Level(zapcore.Level(-2)))
}
