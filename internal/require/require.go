// Package require ends tests whose preparations fail.
package require

import "testing"

// NoError ends a test if an error is not nil.
func NoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
