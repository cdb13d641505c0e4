package twoway

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge/schema"
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
type InputError = schema.InputError

const (
	inManifest = "manifest"
	inLive     = "live"
)

// wrong returns the error of an input at the current field. The callers add the path on return (under), so that a successful
// merge builds no path.
func wrong(input string, reason error, detail string, args ...any) error {
	return &InputError{Input: input, Err: fmt.Errorf("%w: "+detail, append([]any{reason}, args...)...)}
}

// under adds a step to the error's path, which is in reverse order until located is called.
func under(err error, step fieldpath.PathElement) error {
	var at *InputError
	if errors.As(err, &at) {
		at.Path = append(at.Path, step)
	}
	return err
}

// located puts the error's path in order.
func located(err error) error {
	var at *InputError
	if errors.As(err, &at) {
		slices.Reverse(at.Path)
	}
	return err
}
