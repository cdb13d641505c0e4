package audit

import (
	"fmt"
	"strings"
)

// tally counts objects of which the same is to be said, and names the first ones.
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

// addWith also keeps the sentence about the first one.
func (t *tally) addWith(name, sentence string) {
	t.add(name)
	if t.count == 1 {
		t.first = sentence
	}
}

// are begins a sentence about all of them.
func (t *tally) are(one, many string) string {
	if t.count == 1 {
		return t.names[0] + ": " + one
	}
	return t.some() + ": " + many
}

// some names them, as far as there are few.
func (t *tally) some() string {
	text := strings.Join(t.names, ", ")
	if more := t.count - len(t.names); more > 0 {
		text = fmt.Sprintf("%s and %d others", text, more)
	}
	return text
}

// others says how many there are beside the first one.
func (t *tally) others() string {
	if t.count == 1 {
		return ""
	}
	return fmt.Sprintf(" (and %s)", counted(t.count-1, "other like it", "others like it"))
}
