package twoway

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The reasons of an InputError, for errors.Is.
var (
	// ErrWrongKind: a value is of another kind than the other side's, or than its list's elements have to be.
	ErrWrongKind = errors.New("the value is of the wrong kind")
	// ErrNoKey: an element of a keyed list lacks a key.
	ErrNoKey = errors.New("the element lacks the key of its list")
	// ErrEmptyName: a field has no name.
	ErrEmptyName = errors.New("the name of a field is empty")
	// ErrUnknownDirective: the $patch of an object or of a list is none of merge, replace and delete.
	ErrUnknownDirective = errors.New("the directive is none of merge, replace and delete")
)

// InputError is an input that cannot be merged, and the place in it.
type InputError struct {
	// Input is "manifest" or "live".
	Input string
	// Path leads to the place within it; empty for the input as a whole.
	Path fieldpath.Path
	// Err is a reason, wrapped in detail: ErrWrongKind, ErrNoKey, ErrEmptyName or ErrUnknownDirective;
	// or the JSON reader's error.
	Err error
}

const (
	inManifest = "manifest"
	inLive     = "live"
)

// Error implements error.
func (e *InputError) Error() string {
	if len(e.Path) == 0 {
		return fmt.Sprintf("%s: %v", e.Input, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Input, e.Path, e.Err)
}

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }

// wrong returns the error of an input at the place at hand; under leads there on the way out, so that a merge that
// succeeds builds no path.
func wrong(input string, reason error, detail string, args ...any) error {
	return &InputError{Input: input, Err: fmt.Errorf("%w: "+detail, append([]any{reason}, args...)...)}
}

// under puts one more step in front of the error's path. Until located, the path is the wrong way round.
func under(err error, step fieldpath.PathElement) error {
	var at *InputError
	if errors.As(err, &at) {
		at.Path = append(at.Path, step)
	}
	return err
}

// located turns the error's path the right way round.
func located(err error) error {
	var at *InputError
	if errors.As(err, &at) {
		slices.Reverse(at.Path)
	}
	return err
}
