package main

import (
	"strings"
	"testing"
	"time"
)

// The targets that are decided: docs/performance.md.
func TestTargets(t *testing.T) {
	for i, want := range []struct{ keep float64 }{{2}, {2.3}, {0}} {
		of := sizes[i]
		all := spacesOf(of, i)
		for which, m := range all {
			added := map[int]time.Duration{
				constant: 100 * time.Microsecond, nothingToDo: 111 * time.Microsecond, keep: 231 * time.Microsecond,
			}[which]
			m.times = []time.Duration{time.Millisecond + added}
		}
		missed := map[string]bool{}
		for _, row := range compare(all, of) {
			_, title, _ := strings.Cut(row.What, ": ")
			missed[title] = row.Missed()
			if title == "a keep" && row.Target != want.keep {
				t.Errorf("%s: the target of a keep is %v, want %v", of.name, row.Target, want.keep)
			}
		}
		if missed["nothing to do"] != (want.keep > 0) || missed["a keep"] != (want.keep > 0) || missed["not opted in"] {
			t.Errorf("%s: missed %v", of.name, missed)
		}
	}
}
