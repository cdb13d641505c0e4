package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/ownership-handoff/handoff/ownership"
)

// BenchmarkHandler measures the whole handler on recorded reviews of about 30 KB, without and with 200 rules. make bench BASE=main
// compares it with that of another commit.
func BenchmarkHandler(b *testing.B) {
	for _, what := range []struct{ sentence, review string }{
		{"nothing-to-do", "large-nothing-to-do"},
		{"kept", "large-kept"},
		{"kept-and-nothing-else", "large-kept-and-nothing-else"},
	} {
		b.Run(what.sentence, func(b *testing.B) {
			body, err := os.ReadFile(filepath.Join("testdata", "reviews", what.review+".json"))
			if err != nil {
				b.Fatal(err)
			}
			handoff := newServer(b, &fakeCluster{
				modes: map[string]string{what.review: "enforce"}, autoscaler: "HorizontalPodAutoscaler/web",
			})
			handoff.Log, handoff.Events = encodedLog(), unrecorded{}
			b.Run("handoff", func(b *testing.B) { serveRepeatedly(b, handoff, body) })
			handoff.Rules = manyRules(b)
			b.Run("200-rules", func(b *testing.B) { serveRepeatedly(b, handoff, body) })
		})
	}
}

// manyRules returns 200 rules for 50 kinds, four of them for Deployments.
func manyRules(b *testing.B) ownership.Rules {
	b.Helper()
	rules := make([]ownership.Rule, 200)
	for i := range rules {
		field, err := ownership.ParsePattern(fmt.Sprintf(".spec.template.spec.containers[*].field%d", i))
		if err != nil {
			b.Fatal(err)
		}
		kind := schema.GroupKind{Group: "example.com", Kind: fmt.Sprintf("Kind%d", i%50)}
		if i%50 == 0 {
			kind = schema.GroupKind{Group: "apps", Kind: "Deployment"}
		}
		rules[i] = ownership.Rule{
			Name: fmt.Sprintf("rule-%d", i), Kinds: []schema.GroupKind{kind}, Fields: []ownership.Pattern{field}, Writers: []string{"writer"},
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
