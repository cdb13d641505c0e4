package main

import (
	"strconv"
	"strings"
)

// expected is the state of the Deployment after a step, and the number of warnings that its last command prints.
type expected struct {
	replicas           int32
	owner, lastApplied string
	warnings           int  // from handoff
	unwritten          bool // the resourceVersion does not change
}

// fact is an expected value and the actual one.
type fact struct {
	name, want, got string
	shown           bool // printed even if it is as expected
}

func (f fact) met() bool { return f.want == f.got }

// facts compares the object with the expectation.
func (e expected) facts(got state) []fact {
	return []fact{
		{name: "replicas", want: number(e.replicas), got: number(got.replicas), shown: true},
		{name: "owner", want: e.owner, got: got.owner},
		{name: "last-applied", want: e.lastApplied, got: got.lastApplied},
	}
}

// traces compares the other effects of a write: warnings and the resourceVersion.
func (e expected) traces(before, got state, output string) []fact {
	warnings := strings.Count(output, "Warning: handoff: ")
	found := []fact{{name: "warnings", want: strconv.Itoa(e.warnings), got: strconv.Itoa(warnings), shown: e.warnings > 0}}
	if e.unwritten {
		found = append(found, fact{name: "resourceVersion", want: before.resourceVersion, got: got.resourceVersion, shown: true})
	}
	return found
}

func number(n int32) string { return strconv.Itoa(int(n)) }
