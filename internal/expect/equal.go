// Package expect compares what tests get with what they want.
package expect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Equal reports the differences between the wanted and the actual value of something.
func Equal(tb testing.TB, what string, want, got any, options ...cmp.Option) {
	tb.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Error reports that something has not failed with an error that contains a text.
func Error(tb testing.TB, what, text string, err error) {
	tb.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		tb.Errorf("%s: want an error that contains %q, got %v", what, text, err)
	}
}

// NoError ends a test if an error is not nil.
func NoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
