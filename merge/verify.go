package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
)

// ErrNotRestored is returned if the patch would not restore a kept field as Rewrite promises.
var ErrNotRestored = errors.New("the patch does not restore every kept field")

// verify compares the result of Rewrite with live, whatever it was made by: no operation undoes another, each piece has its
// value in an operation or in the incoming object, and each managedFields entry manages the same part of it as in live.
func (k *keeper) verify(restored []Operation, entries []ownership.Entry, r *entryRestorer) error {
	values := make(map[string][]byte, len(restored))
	for _, o := range restored {
		value, _ := o.Value.(json.RawMessage)
		if _, twice := values[o.Path]; twice {
			return fmt.Errorf("%w: two operations have the same path", ErrNotRestored)
		}
		values[o.Path] = value
	}
	for _, o := range restored {
		for end := strings.LastIndexByte(o.Path, '/'); end > 0; end = strings.LastIndexByte(o.Path[:end], '/') {
			if _, nested := values[o.Path[:end]]; nested {
				return fmt.Errorf("%w: an operation's path is nested under another's", ErrNotRestored)
			}
		}
	}
	for _, p := range k.pieces {
		got, patched := values[k.pointer(p)]
		if !patched {
			got = k.incoming.Of(p.top).Text()
		}
		if !bytes.Equal(got, p.value) || len(got) == 0 {
			return fmt.Errorf("%w: a value differs", ErrNotRestored)
		}
	}
	return r.verify(entries)
}

// verify checks that each finished entry contains the same parts as in live.
func (r *entryRestorer) verify(entries []ownership.Entry) error {
	k := r.keeper
	if !k.write.Live.Present() || len(k.pieces) == 0 {
		return nil
	}
	for pair := range ownership.Pairs(k.write.LiveEntries, entries) {
		if !pair.Changed() || k.isSendersApply(pair.Entry()) {
			continue
		}
		isSame := func(live, restored managedPart) bool { return live.node == restored.node }
		if !slices.EqualFunc(r.partsToKeep(pair.Live), r.partsIn(pair.Incoming), isSame) {
			return fmt.Errorf("%w: the managedFields entry of %s differs", ErrNotRestored, pair.Entry().Manager)
		}
	}
	return nil
}
