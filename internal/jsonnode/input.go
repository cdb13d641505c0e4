package jsonnode

import (
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// InputError is returned by the merges for an input that cannot be merged.
type InputError struct {
	// Input is "base", "manifest" or "live".
	Input string
	// Path leads to the field in the input; empty for the input as a whole.
	Path fieldpath.Path
	// Err wraps a reason of the merge, such as threeway.ErrWrongKind, or the error of the JSON reader.
	Err error
}

// Error implements error.
func (e *InputError) Error() string {
	if len(e.Path) == 0 {
		return fmt.Sprintf("%s: %v", e.Input, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Input, e.Path, e.Err)
}

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }

// Wrong returns the error of an input at a path.
func (p *Path) Wrong(input string, reason error, detail string, args ...any) error {
	return &InputError{Input: input, Path: p.FieldPath(), Err: fmt.Errorf("%w: "+detail, append([]any{reason}, args...)...)}
}
