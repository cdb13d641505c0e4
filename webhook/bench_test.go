package webhook_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/test/bench/handlers"
)

// BenchmarkHandler measures the whole handler on recorded reviews of about 30 KB, beside a webhook of controller-runtime
// that only says "allowed". `make bench` has more, and the targets.
func BenchmarkHandler(b *testing.B) {
	for _, what := range []struct{ sentence, review string }{
		{"nothing-to-do", "large-nothing-to-do"},
		{"kept", "large-kept"},
		{"kept-and-nothing-else", "large-kept-and-nothing-else"},
	} {
		b.Run(what.sentence, func(b *testing.B) {
			body, err := handlers.Review(what.review)
			if err != nil {
				b.Fatal(err)
			}
			exchange, err := handlers.NewExchange(body)
			if err != nil {
				b.Fatal(err)
			}
			handoff, err := handlers.Handoff(b.Context(), handlers.Options{Mode: "enforce", Namespace: what.review})
			if err != nil {
				b.Fatal(err)
			}
			plain, err := handlers.ControllerRuntime()
			if err != nil {
				b.Fatal(err)
			}
			b.Run("handoff", exchange.Benchmark(handoff))
			b.Run("controller-runtime", exchange.Benchmark(plain))
		})
	}
}
