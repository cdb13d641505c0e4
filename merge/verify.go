package merge

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"gomodules.xyz/jsonpatch/v2"

	"github.com/ownership-handoff/handoff/ownership"
)

// ErrNotWhole is returned for a patch after which a field would be called kept and not be as it was.
var ErrNotWhole = errors.New("the patch does not keep what it should")

// verify checks what Rewrite promises, on the finished operations and entries and not by how they came about: no operation
// undoes another, each unit has its value in one of them or in the incoming object, and each entry claims of it what it did
// in live.
func (k *keeper) verify(restored []jsonpatch.Operation, entries []ownership.Entry) error {
	values := make(map[string][]byte, len(restored))
	for _, o := range restored {
		value, _ := rawOf(o.Value)
		if _, twice := values[o.Path]; twice {
			return fmt.Errorf("%w: two operations at one place", ErrNotWhole)
		}
		values[o.Path] = value
	}
	for _, o := range restored {
		for end := strings.LastIndexByte(o.Path, '/'); end > 0; end = strings.LastIndexByte(o.Path[:end], '/') {
			if _, above := values[o.Path[:end]]; above {
				return fmt.Errorf("%w: an operation within another", ErrNotWhole)
			}
		}
	}
	for _, u := range k.units {
		got, patched := values[k.incoming.Pointer(u.top)]
		if !patched {
			got = k.incoming.Of(u.top, k.write.Incoming.Text())
		}
		if !bytes.Equal(got, u.value) || len(got) == 0 {
			return fmt.Errorf("%w: a value", ErrNotWhole)
		}
	}
	return k.verifyClaims(entries)
}

// verifyClaims checks the claims of the finished entries.
func (k *keeper) verifyClaims(entries []ownership.Entry) error {
	if !k.write.Live.Present() {
		return nil
	}
	c := k.claims(k.write.IncomingEntries)
	for _, both := range ownership.Pairs(k.write.LiveEntries, entries) {
		if c.isOwn(both.Live) || c.isOwn(both.Incoming) || bytes.Equal(both.Live.Fields, both.Incoming.Fields) {
			continue
		}
		was, now := c.unitsIn(both.Live), c.unitsIn(both.Incoming)
		pair := claimPair{now: both.Incoming, was: both.Live, isIncoming: both.InIncoming}
		excused := func(u *unit) bool { return c.moved[u] || c.isForeign(pair, u) }
		if lacks(was, now, excused) || lacks(now, was, excused) {
			return fmt.Errorf("%w: a claim of %s", ErrNotWhole, pair.entry().Manager)
		}
	}
	return nil
}

// lacks reports whether b lacks a unit of a that is not excused.
func lacks(a, b map[*unit][]byte, excused func(*unit) bool) bool {
	for u := range a {
		if b[u] == nil && !excused(u) {
			return true
		}
	}
	return false
}

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
