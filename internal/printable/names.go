package printable

import (
	"fmt"
	"strings"
)

// Names lists the first names of a number of objects: "a, b and 3 others".
func Names(first []string, number int) string {
	text := strings.Join(first, ", ")
	if more := number - len(first); more > 0 {
		text = fmt.Sprintf("%s and %d others", text, more)
	}
	return text
}

// Some lists names: all if there are at most three, otherwise the first two and the number of others.
func Some(names []string) string {
	shown := len(names)
	if shown > 3 {
		shown = 2
	}
	return Names(names[:shown], len(names))
}
