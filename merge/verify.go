package merge

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"gomodules.xyz/jsonpatch/v2"

	"github.com/ownership-handoff/handoff/ownership"
)

// ErrNotRestored is returned if the patch would not restore a kept field as Rewrite promises.
var ErrNotRestored = errors.New("the patch does not restore every kept field")

// verify compares the result of Rewrite with live, whatever it was made by: no operation undoes another, each piece has its
// value in an operation or in the incoming object, and each managedFields entry manages the same part of it as in live.
//
// r is the restorer of the write's entries.
func (k *keeper) verify(restored []jsonpatch.Operation, entries []ownership.Entry, r *entryRestorer) error {
	values := make(map[string][]byte, len(restored))
	for _, o := range restored {
		value, _ := rawOf(o.Value)
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

// verify checks that the finished entries have the same parts as in live.
func (r *entryRestorer) verify(entries []ownership.Entry) error {
	k := r.keeper
	if !k.write.Live.Present() || len(r.parts) == 0 {
		return nil
	}
	for both := range ownership.Pairs(k.write.LiveEntries, entries) {
		isUnchanged := bytes.Equal(both.Live.Fields.Text(), both.Incoming.Fields.Text())
		if isUnchanged || k.isSendersApply(both.Live) || k.isSendersApply(both.Incoming) {
			continue
		}
		live, incoming := r.subsetsOf(both.Live), r.subsetsOf(both.Incoming)
		if live.lacks(incoming) || incoming.lacks(live) {
			return fmt.Errorf("%w: the managedFields entry of %s differs", ErrNotRestored, both.Entry().Manager)
		}
	}
	return nil
}

// lacks reports whether s lacks a part of another.
func (s subsets) lacks(other subsets) bool {
	for p := range other {
		if s[p] == nil {
			return true
		}
	}
	return false
}

// rawOf returns an operation's value if it is JSON text.
func rawOf(v any) (text []byte, ok bool) {
	switch v := v.(type) {
	case []byte:
		return v, true
	case interface{ MarshalJSON() ([]byte, error) }:
		text, err := v.MarshalJSON()
		return text, err == nil
	default:
		return nil, false
	}
}
