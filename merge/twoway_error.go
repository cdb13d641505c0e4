package merge

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The inputs of a two-way merge, as an InputError names them.
const (
	inSource      = "source"
	inDestination = "destination"
)

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
