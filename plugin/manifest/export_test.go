package manifest

import (
	"bytes"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Find returns the place of a path in an object, or nil.
func (o Object) Find(path fieldpath.Path) *Place {
	if at := o.Nearest(path); len(at.Path) == len(path) {
		return at
	}
	return nil
}

// Lines returns the first and the last line of a place, counted from 1.
func (s *Stream) Lines(at *Place) (first, last int) {
	start, end := s.text.span(at.in.collection(), at.Key, at.Node)
	line := func(offset int) int { return 1 + bytes.Count(s.text.bytes[:offset], []byte("\n")) }
	return line(start), line(end)
}

// IsShared exports isShared.
func (s *Stream) IsShared(at *Place) bool { return s.isShared(at) }
