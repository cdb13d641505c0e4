package main

import (
	"strconv"
	"strings"
)

// expected is how a step must leave the Deployment, and what its last command must have printed.
type expected struct {
	replicas           int32
	owner, lastApplied string
	warnings           int  // of handoff
	unwritten          bool // the resourceVersion is still the same
}

// fact is one thing that was expected, and what came.
type fact struct {
	name, want, got string
	shown           bool // already where it holds, and not only where it does not
}

func (f fact) holds() bool { return f.want == f.got }

// facts are about the object alone.
func (e expected) facts(got state) []fact {
	return []fact{
		{name: "replicas", want: number(e.replicas), got: number(got.replicas), shown: true},
		{name: "owner", want: e.owner, got: got.owner},
		{name: "last-applied", want: e.lastApplied, got: got.lastApplied},
	}
}

// traces are what a write leaves behind besides.
func (e expected) traces(before, got state, output string) []fact {
	warnings := strings.Count(output, "Warning: handoff: ")
	found := []fact{{name: "warnings", want: strconv.Itoa(e.warnings), got: strconv.Itoa(warnings), shown: e.warnings > 0}}
	if e.unwritten {
		found = append(found, fact{name: "resourceVersion", want: before.resourceVersion, got: got.resourceVersion, shown: true})
	}
	return found
}

func number(n int32) string { return strconv.Itoa(int(n)) }
