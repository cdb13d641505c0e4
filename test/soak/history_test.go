package soak_test

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// consequences are what a fault may have.
type consequences int

const (
	// undecidedWrites are writes that the webhook does not decide. The API server or the webhook says so of each.
	undecidedWrites consequences = 1 << iota
	// noAPI are requests that no API server answers.
	noAPI
	// unknownGuard are writes of which only the API server knows whether the guard was in force.
	unknownGuard
)

// faults are faults that last at the same time, none in a calm phase.
type faults []*fault

func (f faults) name() string {
	if len(f) == 0 {
		return "calm"
	}
	var names []string
	for _, each := range f {
		names = append(names, each.name)
	}
	return strings.Join(names, " + ")
}

// has reports whether the name of one contains a text.
func (f faults) has(text string) bool {
	return slices.ContainsFunc(f, func(each *fault) bool { return strings.Contains(each.name, text) })
}

func (f faults) may(c consequences) bool {
	return slices.ContainsFunc(f, func(each *fault) bool { return each.may&c != 0 })
}

// span is the time of something that lasts until to, or still does if to is zero.
type span struct {
	faults     faults // nil for the guard
	installing time.Time
	from, to   time.Time
	removed    time.Time // the guard, at or after to
}

func (s span) overlaps(from, to time.Time) bool {
	return to.After(s.from) && (s.to.IsZero() || from.Before(s.to))
}

// history knows when which fault lasted, until the cluster had recovered, and when the guard was in force.
type history struct {
	mutex         sync.Mutex
	played, guard []span
}

func (h *history) begin(f faults) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.played = append(h.played, span{faults: f, from: time.Now()})
}

func (h *history) end() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.played[len(h.played)-1].to = time.Now()
}

func (h *history) during(from, to time.Time) faults {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, s := range slices.Backward(h.played) {
		if s.overlaps(from, to) {
			return s.faults
		}
	}
	return nil
}

// mayHave reports whether a fault that has lasted since a time can have a consequence.
func (h *history) mayHave(c consequences, from, to time.Time) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.ContainsFunc(h.played, func(s span) bool { return s.overlaps(from, to) && s.faults.may(c) })
}

// setGuard records that the guard is in force, since it was installed, or is no longer: before its removal, and again after it.
func (h *history) setGuard(on bool, installing time.Time) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if on {
		h.guard = append(h.guard, span{installing: installing, from: time.Now()})
	} else if n := len(h.guard); n > 0 {
		last := &h.guard[n-1]
		last.removed = time.Now()
		last.to = cmp.Or(last.to, last.removed)
	}
}

// guarded reports whether the guard was in force all the time.
func (h *history) guarded(from, to time.Time) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.ContainsFunc(h.guard, func(s span) bool { return s.from.Before(from) && (s.to.IsZero() || s.to.After(to)) })
}

// guardIsNew reports whether the guard was installed or removed so recently that the webhook may not know it.
func (h *history) guardIsNew(at time.Time) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.ContainsFunc(h.guard, func(s span) bool {
		return s.installing.Before(at) && at.Before(s.from.Add(newGuard)) || !s.to.IsZero() && at.After(s.to) && at.Before(s.removed.Add(newGuard))
	})
}
