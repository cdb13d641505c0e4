package merge

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// InvalidError says that what stands at a path cannot be merged, and why.
type InvalidError struct {
	// Path leads to the place from the root of the objects; it is empty for the root.
	Path fieldpath.Path
	// Problem is the reason, in a sentence without the path.
	Problem string
}

// Error returns the path, as the API server prints it in conflicts, and the problem.
func (e *InvalidError) Error() string {
	if len(e.Path) == 0 {
		return e.Problem
	}
	return e.Path.String() + ": " + e.Problem
}

// invalid returns the error of the place at hand; under leads to it on the way out, so that a merge that succeeds never
// builds a path.
func invalid(format string, args ...any) error {
	return &InvalidError{Problem: fmt.Sprintf(format, args...)}
}

// under puts one more step in front of the error's path. Until located, the path is the wrong way round.
func under(err error, step fieldpath.PathElement) error {
	var at *InvalidError
	if errors.As(err, &at) {
		at.Path = append(at.Path, step)
	}
	return err
}

// located turns the error's path the right way round.
func located(err error) error {
	var at *InvalidError
	if errors.As(err, &at) {
		slices.Reverse(at.Path)
	}
	return err
}
