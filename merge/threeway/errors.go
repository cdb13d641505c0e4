package threeway

import (
	"errors"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// The reasons of an InputError, for errors.Is.
var (
	// ErrWrongKind: an object or a list that has to be merged is of another kind than the schema declares, or an element
	// of another kind than its list's.
	ErrWrongKind = errors.New("the value is of the wrong kind")
	// ErrNoKey: an element of a keyed list lacks a key.
	ErrNoKey = errors.New("the element lacks the key of its list")
	// ErrDuplicate: two elements of a keyed list have the same keys, or a set has a value twice.
	ErrDuplicate = errors.New("the list has the element twice")
	// ErrDirective: the manifest, or the base where it matters, holds a directive of strategic merge patches.
	ErrDirective = errors.New("the field is a patch directive, not part of an object")
)

// ErrNoStrategy is returned for a schema that leaves it to the merge to infer keys (schema.InferKey, twoway.Inferred), which
// kubectl apply does not.
var ErrNoStrategy = errors.New("the schema infers the keys of lists, which a three-way merge does not")

// InputError is an input that cannot be merged, and the place in it.
type InputError struct {
	// Input is "base", "manifest" or "live".
	Input string
	// Path leads to the place within it; empty for the input as a whole.
	Path fieldpath.Path
	// Err is a reason, wrapped in detail: ErrWrongKind, ErrNoKey, ErrDuplicate or ErrDirective; or the JSON reader's
	// error.
	Err error
}

const (
	inBase     = "base"
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

// wrong returns the error of an input at the path at hand.
func (m *merger) wrong(input string, reason error, detail string, args ...any) error {
	return &InputError{Input: input, Path: m.path(), Err: fmt.Errorf("%w: "+detail, append([]any{reason}, args...)...)}
}

// check says whether a value is of the kind that the schema declares.
func (m *merger) check(input string, n *node, holds schema.Kind) error {
	var ok bool
	switch holds {
	case schema.HoldsObject:
		ok = n.kind == '{'
	case schema.HoldsList:
		ok = n.kind == '['
	case schema.HoldsScalar:
		ok = n.kind != '{' && n.kind != '['
	default:
		ok = n.kind != 0
	}
	if ok || n.kind == 'n' {
		return nil
	}
	return m.wrong(input, ErrWrongKind, "it is %s", n.kindName())
}

func (m *merger) noStrategy() error { return fmt.Errorf("%s: %w", m.path(), ErrNoStrategy) }
