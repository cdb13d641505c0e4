package manifest

import "bytes"

// Lines returns the first and the last line of a place, counted from 1.
func (s *Stream) Lines(at *Place) (first, last int) {
	start, end := s.text.span(at)
	line := func(offset int) int { return 1 + bytes.Count(s.text.bytes[:offset], []byte("\n")) }
	return line(start), line(end)
}

// IsShared exports isShared.
func (s *Stream) IsShared(at *Place) bool { return s.isShared(at) }
