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
