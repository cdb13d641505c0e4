package explanation

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ownership-handoff/handoff/ownership"
)

// Style is how text is written.
type Style struct {
	// Colour says that the owners are coloured.
	Colour bool
	// Now is what ages are counted to.
	Now time.Time
}

// row is a line of a table. The last cell is not padded, so that its length changes no other.
type row struct {
	cells []string
	// owner colours the cell at ownerAt.
	owner ownership.Owner
}

// ownerAt is where each table has the owner.
const ownerAt = 2

func (s Style) write(w io.Writer, head []string, rows []row) error {
	widths := make([]int, len(head))
	for _, r := range append([]row{{cells: head}}, rows...) {
		for i, cell := range r.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(r row, colour bool) {
		for i, cell := range r.cells {
			padding := ""
			if i < len(r.cells)-1 {
				padding = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+3)
			}
			if colour && i == ownerAt {
				cell = s.paint(cell, r.owner)
			}
			b.WriteString(cell + padding)
		}
		b.WriteByte('\n')
	}
	line(row{cells: head}, false)
	for _, r := range rows {
		line(r, s.Colour)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// paint gives each owner a colour: what outlives an apply is warm, what a manifest holds green.
func (s Style) paint(text string, owner ownership.Owner) string {
	codes := map[ownership.Owner]int{
		ownership.Autoscaler: 35, ownership.Controller: 36, ownership.Imperative: 33,
		ownership.Manifest: 32, ownership.Default: 90, ownership.Unknown: 31,
	}
	if text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", codes[owner], text)
}

// age is how long ago something was, as kubectl writes it.
func (s Style) age(since string) string {
	at, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return "-"
	}
	return duration.HumanDuration(s.Now.Sub(at))
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
