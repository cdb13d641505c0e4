package twoway

import (
	"errors"

	"github.com/ownership-handoff/handoff/internal/jsonnode"
)

// The reasons of an InputError, for errors.Is.
var (
	// ErrWrongKind: a value is not of the same kind as that of the other input, or not of the kind that its list requires.
	ErrWrongKind = errors.New("the value is of the wrong kind")
	// ErrNoKey: an element of a keyed list lacks the first key field, or the elements of two lists have no common key.
	ErrNoKey = errors.New("the element lacks the key of its list")
	// ErrEmptyName: the name of a field is empty.
	ErrEmptyName = errors.New("the name of a field is empty")
	// ErrUnknownDirective: the $patch of an object or a list is not merge, replace or delete, or a list has two different ones.
	ErrUnknownDirective = errors.New("the directive is not merge, replace or delete")
)

// InputError is returned for an input that cannot be merged: "manifest" or "live". Its Err wraps ErrWrongKind, ErrNoKey,
// ErrEmptyName or ErrUnknownDirective, or is the error of the JSON reader.
type InputError = jsonnode.InputError

const (
	inManifest = "manifest"
	inLive     = "live"
)
