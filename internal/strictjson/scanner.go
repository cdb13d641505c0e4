// Package strictjson scans JSON text according to RFC 8259 and RFC 7493: UTF-8 must be valid, and names in an object unique. It
// accepts the same texts as jsontext, and is faster for objects with sorted names, as API servers write them, because it does not
// need to compare all of them.
package strictjson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Scanner scans one text. It cannot be used after an error.
type Scanner struct {
	text  string
	bytes []byte // the same
	pos   int
	// frames are the objects and lists that contain the current position.
	frames []frame
	// names are the names read so far in these objects.
	names []string
}

type frame struct {
	object bool
	begun  bool // an element has been read
	sorted bool // the names so far are sorted
	names  int  // index of the object's first name in Scanner.names
}

// maxDepth is the limit of jsontext.
const maxDepth = 10000

// Reset prepares the scanner for a text, which is passed both as a string and as bytes. It reuses the scanner's memory.
func (s *Scanner) Reset(text string, bytes []byte) {
	if s.frames == nil {
		s.frames, s.names = make([]frame, 0, 16), make([]string, 0, 32)
	}
	s.text, s.bytes, s.pos, s.frames, s.names = text, bytes, 0, s.frames[:0], s.names[:0]
}

// Offset returns the current position, which is the end of what was read last.
func (s *Scanner) Offset() int { return s.pos }

// Kind returns the kind of the next value, 0 if there is none.
func (s *Scanner) Kind() jsontext.Kind {
	s.space()
	if s.pos == len(s.text) {
		return 0
	}
	return KindOf(s.text[s.pos])
}

// KindOf returns the kind of the value that starts with a byte: '{', '[', '"', '0', 't', 'f', 'n', or 0 if none does.
func KindOf(c byte) jsontext.Kind {
	switch c {
	case '{', '[', '"', 't', 'f', 'n':
		return jsontext.Kind(c)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	default:
		return 0
	}
}

func (s *Scanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// Enter enters the next value, which must be an object or a list.
func (s *Scanner) Enter() error {
	if len(s.frames) == maxDepth {
		return s.problem("too deep")
	}
	s.frames = append(s.frames, frame{object: s.text[s.pos] == '{', sorted: true, names: len(s.names)})
	s.pos++
	return nil
}

// Next reports whether the object or list has another member or element. If not, it leaves the object or list.
func (s *Scanner) Next() (bool, error) {
	s.space()
	if s.pos == len(s.text) {
		return false, s.problem("unexpected end")
	}
	f := &s.frames[len(s.frames)-1]
	closing := byte(']')
	if f.object {
		closing = '}'
	}
	switch c := s.text[s.pos]; {
	case c == closing:
		s.pos++
		return false, s.leave(f)
	case !f.begun:
		f.begun = true
		return true, nil
	case c == ',':
		s.pos++
		s.space()
		if s.pos < len(s.text) && s.text[s.pos] != '}' && s.text[s.pos] != ']' {
			return true, nil
		}
	}
	return false, s.problem("unexpected character")
}

// leave leaves an object or list, and checks that the names of an object are unique.
func (s *Scanner) leave(f *frame) error {
	names, sorted := s.names[f.names:], f.sorted
	s.names, s.frames = s.names[:f.names], s.frames[:len(s.frames)-1]
	if sorted {
		return nil
	}
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return s.problem("duplicate name")
		}
	}
	return nil
}

// Name reads the name of a member, and the colon.
func (s *Scanner) Name() (string, error) {
	if s.pos == len(s.text) || s.text[s.pos] != '"' {
		return "", s.problem("not a name")
	}
	start := s.pos
	if err := s.quoted(); err != nil {
		return "", err
	}
	name, err := Unquote(s.text[start:s.pos])
	if err != nil {
		return "", err
	}
	f := &s.frames[len(s.frames)-1]
	if len(s.names) > f.names && name <= s.names[len(s.names)-1] {
		f.sorted = false
	}
	s.names = append(s.names, name)
	s.space()
	if s.pos == len(s.text) || s.text[s.pos] != ':' {
		return "", s.problem("not a colon")
	}
	s.pos++
	return name, nil
}

// Value reads the next value completely, and returns its text.
func (s *Scanner) Value() (string, error) {
	s.space()
	start := s.pos
	err := s.skip()
	return s.text[start:s.pos], err
}

// Repeat skips the next value without checking it, and returns its text. The value must equal one that was read before, with the
// given length.
func (s *Scanner) Repeat(length int) string {
	s.space()
	s.pos += length
	return s.text[s.pos-length : s.pos]
}

func (s *Scanner) skip() error {
	switch s.Kind() {
	case '{', '[':
		return s.skipContainer()
	case '"':
		return s.quoted()
	case '0':
		return s.number()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.problem("not a value")
	}
}

func (s *Scanner) skipContainer() error {
	object := s.text[s.pos] == '{'
	if err := s.Enter(); err != nil {
		return err
	}
	for {
		more, err := s.Next()
		if err != nil || !more {
			return err
		}
		if object {
			if _, err := s.Name(); err != nil {
				return err
			}
		}
		if err := s.skip(); err != nil {
			return err
		}
	}
}

func (s *Scanner) literal(word string) error {
	if !strings.HasPrefix(s.text[s.pos:], word) {
		return s.problem("not a literal")
	}
	s.pos += len(word)
	return nil
}

func (s *Scanner) number() error {
	if s.text[s.pos] == '-' {
		s.pos++
	}
	switch {
	case s.at('0'):
		s.pos++
	case !s.digits():
		return s.problem("not a number")
	}
	if s.at('.') {
		s.pos++
		if !s.digits() {
			return s.problem("not a fraction")
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if !s.digits() {
			return s.problem("not an exponent")
		}
	}
	return nil
}

func (s *Scanner) at(c byte) bool { return s.pos < len(s.text) && s.text[s.pos] == c }

func (s *Scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos] >= '0' && s.text[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// quoted reads a string.
func (s *Scanner) quoted() error {
	i := s.pos + 1
	for {
		i = plain(s.bytes, i)
		if i >= len(s.bytes) {
			return s.problem("unexpected end")
		}
		switch c := s.bytes[i]; {
		case c == '"':
			s.pos = i + 1
			return nil
		case c == '\\':
			n := escape(s.bytes[i:])
			if n == 0 {
				return s.problem("not an escape")
			}
			i += n
		case c < ' ':
			return s.problem("a control character")
		default:
			r, n := utf8.DecodeRune(s.bytes[i:])
			if r == utf8.RuneError && n == 1 {
				return s.problem("invalid UTF-8")
			}
			i += n
		}
	}
}

// plain returns the index of the first byte that is not printable ASCII, a quote or a backslash. It checks eight bytes at a time.
func plain(text []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(text); i += 8 {
		x := binary.LittleEndian.Uint64(text[i:])
		quote, backslash := x^(ones*'"'), x^(ones*'\\')
		// The lowest of these bits is at the first such byte. Those after it can be wrong, because a difference borrows from them.
		if found := ((x-ones*' ')&^x | (quote-ones)&^quote | (backslash-ones)&^backslash | x) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] < utf8.RuneSelf && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

// escape returns the length of an escape sequence, 0 if it is invalid. A surrogate must be followed by its other half.
func escape(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
	default:
		return 0
	}
	first, ok := hex(text)
	switch {
	case !ok:
		return 0
	case !utf16.IsSurrogate(first):
		return 6
	case len(text) < 12 || text[6] != '\\' || text[7] != 'u':
		return 0
	}
	second, ok := hex(text[6:])
	if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
		return 0
	}
	return 12
}

// hex returns the number in \uXXXX.
func hex(text []byte) (rune, bool) {
	if len(text) < 6 {
		return 0, false
	}
	var r rune
	for _, c := range text[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// End checks that nothing follows the value.
func (s *Scanner) End() error {
	s.space()
	if s.pos < len(s.text) {
		return s.problem("more follows the value")
	}
	return nil
}

// ErrSyntax is returned for invalid text if jsontext reports no error.
var ErrSyntax = errors.New("not strict JSON")

// problem returns the error of jsontext, which contains the position, or ErrSyntax.
func (s *Scanner) problem(what string) error {
	dec := jsontext.NewDecoder(strings.NewReader(s.text))
	if _, err := dec.ReadValue(); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	return fmt.Errorf("%w: %s at byte %d", ErrSyntax, what, s.pos)
}

// Unquote returns the value of a valid JSON string. If the string has no escapes, the result shares its memory.
func Unquote(quoted string) (string, error) {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return string(text), err
}
