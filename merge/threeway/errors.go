package threeway

import (
	"errors"
	"fmt"

	"github.com/ownership-handoff/handoff/internal/jsonnode"
)

// The reasons of an InputError, for errors.Is.
var (
	// ErrWrongKind: an object or a list that has to merge is not of the kind that the schema declares, or an element is not of
	// the kind that its list requires.
	ErrWrongKind = errors.New("the value is of the wrong kind")
	// ErrNoKey: an element of a keyed list lacks a key field.
	ErrNoKey = errors.New("the element lacks the key of its list")
	// ErrDuplicate: two elements of a keyed list have the same key, or a set contains a value twice.
	ErrDuplicate = errors.New("the list has the element twice")
	// ErrDirective: the manifest, or a part of the base that has to merge, contains a directive of strategic merge patches.
	ErrDirective = errors.New("the field is a patch directive, not part of an object")
)

// ErrNoStrategy is returned for a schema that requires the merge to infer list keys (schema.InferKey, twoway.Inferred).
// kubectl apply does not infer keys.
var ErrNoStrategy = errors.New("the schema infers list keys, which a three-way merge does not support")

// InputError is returned for an input that cannot be merged: "base", "manifest" or "live". Its Err wraps ErrWrongKind, ErrNoKey,
// ErrDuplicate or ErrDirective, or is the error of the JSON reader.
type InputError = jsonnode.InputError

const (
	inBase     = "base"
	inManifest = "manifest"
	inLive     = "live"
)

func (m *merger) noStrategy() error { return fmt.Errorf("%s: %w", m.at.FieldPath(), ErrNoStrategy) }
