package audit

import (
	"fmt"

	"github.com/ownership-handoff/handoff/internal/printable"
)

// tally counts objects with the same gap, and keeps the names of the first ones.
type tally struct {
	count int
	names []string
	first string
}

func (t *tally) add(name string) {
	t.count++
	if t.count <= 3 {
		t.names = append(t.names, name)
	}
}

// addWith also keeps the sentence about the first object.
func (t *tally) addWith(name, sentence string) {
	t.add(name)
	if t.count == 1 {
		t.first = sentence
	}
}

// some returns the names of the first objects and the number of others.
func (t *tally) some() string { return printable.Names(t.names, t.count) }

// others returns how many objects there are besides the first one.
func (t *tally) others() string {
	if t.count == 1 {
		return ""
	}
	return fmt.Sprintf(" (and %s)", counted(t.count-1, "other object", "other objects"))
}
