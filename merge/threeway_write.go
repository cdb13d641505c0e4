package merge

import (
	"github.com/go-json-experiment/json/jsontext"
)

// appendText appends the JSON text of a node to out: the one it was given as, or a new one.
func (n *node) appendText(out []byte) []byte {
	if !n.made() {
		return append(out, n.text...)
	}
	end := byte(n.kind) + 2 // in ASCII, as '}' is to '{' and ']' to '['
	out = append(out, byte(n.kind))
	for i := range n.children {
		if i > 0 {
			out = append(out, ',')
		}
		if n.kind == '{' {
			out = append(appendName(out, n.children[i].name), ':')
		}
		out = n.children[i].appendText(out)
	}
	return append(out, end)
}

func appendName(out []byte, name string) []byte {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			quoted, err := jsontext.AppendQuote(out, name)
			if err == nil {
				return quoted
			}
			break // it has been read as a name before: this does not happen
		}
	}
	return append(append(append(out, '"'), name...), '"')
}
