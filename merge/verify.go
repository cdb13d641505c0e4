package merge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
)

// ErrNotRestored is returned if the patch would not restore a kept field as Rewrite promises.
var ErrNotRestored = errors.New("the patch does not restore every kept field")

// verify compares the result of Rewrite with live, whatever it was made by: each piece has a value, no operation undoes another, and each
// managedFields entry manages the same part of it as in live.
func (k *keeper) verify(restored []Operation, entries []ownership.Entry) error {
	paths := make([]string, len(restored))
	for i, o := range restored {
		paths[i] = o.Path + "/"
	}
	slices.Sort(paths) // a path comes right before those that are nested under it
	for i := 1; i < len(paths); i++ {
		if strings.HasPrefix(paths[i], paths[i-1]) {
			return fmt.Errorf("%w: two operations have the same path, or nested ones", ErrNotRestored)
		}
	}
	if slices.ContainsFunc(k.pieces, func(p *piece) bool { return len(p.value) == 0 }) {
		return fmt.Errorf("%w: a value is missing", ErrNotRestored)
	}
	return k.verifyEntries(entries)
}
