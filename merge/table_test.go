package merge_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/golden"
)

var (
	owners       = []ownership.Owner{ownership.Default, ownership.Manifest, ownership.Imperative, ownership.Controller, ownership.Autoscaler}
	writers      = []ownership.Writer{ownership.OtherWriter, ownership.Applier, ownership.ImperativeWriter}
	declarations = []ownership.Declaration{ownership.Lacks, ownership.Sets, ownership.Clears}

	// As the columns of the decision table have them.
	autoscalerOrController = []ownership.Owner{ownership.Autoscaler, ownership.Controller}
	otherThanThese         = []ownership.Owner{ownership.Manifest, ownership.Imperative, ownership.Default}
	applier                = []ownership.Writer{ownership.Applier}
	lacksIt                = []ownership.Declaration{ownership.Lacks}
	setsIt                 = []ownership.Declaration{ownership.Sets}
	null                   = []ownership.Declaration{ownership.Clears}
)

// expectation is what docs/decisions.md says about some fields. An empty list stands for any; starts is as it stands. A field is dropped if the
// manifest lacks it, and the base has it or the write removes it.
type expectation struct {
	starts   bool
	owners   []ownership.Owner
	writers  []ownership.Writer
	manifest []ownership.Declaration
	want     merge.Decision

	drops, scale, unit, edited, contradicted, toOne, toOneInDiff []bool
}

func (e expectation) covers(c *merge.Change) bool {
	f := c.Field
	drops := f.Declared.Manifest == ownership.Lacks && (f.Declared.Base != ownership.Lacks || f.Removed)
	return e.starts == c.Starts && has(e.owners, f.Owner.Kind) && has(e.writers, c.Writer) && has(e.manifest, f.Declared.Manifest) &&
		has(e.drops, drops) && has(e.scale, f.Scale) && has(e.unit, f.Unit) && has(e.edited, f.Edited) &&
		has(e.contradicted, f.Contradicts != "") && has(e.toOne, c.ToOne) && has(e.toOneInDiff, c.ToOneInDiff)
}

func has[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// expectations is the decision table written out once more, in disjoint sentences: each field is in exactly one.
func expectations() map[string]expectation {
	of := func(o ...ownership.Owner) []ownership.Owner { return o }
	row := func(n int, v merge.Verdict) merge.Decision { return merge.Decision{Row: n, Verdict: v} }
	yes, no, none := []bool{true}, []bool{false}, merge.Decision{}
	return map[string]expectation{
		"row 1: a field of an autoscaler or a controller is kept although the manifest sets it": {
			owners: autoscalerOrController, writers: applier, manifest: setsIt, edited: no, want: row(1, merge.Keep),
		},
		"row 1: a field of an autoscaler is kept, whatever a rule says": {
			owners: of(ownership.Autoscaler), writers: applier, manifest: setsIt, edited: yes, want: row(1, merge.Keep),
		},
		"row 6: the manifest takes over a controller's field where it has changed and the rule lets it win": {
			owners: of(ownership.Controller), writers: applier, manifest: setsIt, edited: yes, want: row(6, merge.Through),
		},
		"row 2: a field of an autoscaler or a controller is kept when the manifest drops it": {
			owners: autoscalerOrController, writers: applier, drops: yes, want: row(2, merge.Keep),
		},
		"no row: a manifest that never had an autoscaler's field and does not change it": {
			owners: autoscalerOrController, writers: applier, manifest: lacksIt, drops: no, want: none,
		},
		"row 3: replicas of an imperative command are kept when the manifest drops them": {
			owners: of(ownership.Imperative), writers: applier, drops: yes, scale: yes, want: row(3, merge.Keep),
		},
		"row 3: a unit of an imperative command is kept when the manifest drops it": {
			owners: of(ownership.Imperative), writers: applier, drops: yes, scale: no, unit: yes, want: row(3, merge.Keep),
		},
		"row 3: replicas of an imperative command that a template has left empty are kept": {
			owners: of(ownership.Imperative), writers: applier, manifest: null, scale: yes, want: row(3, merge.Keep),
		},
		"row 5: another field of an imperative command is deleted when the manifest drops it": {
			owners: of(ownership.Imperative), writers: applier, drops: yes, scale: no, unit: no, want: row(5, merge.Removed),
		},
		"no row: a manifest that never had a person's field and does not change it": {
			owners: of(ownership.Imperative), writers: applier, manifest: lacksIt, drops: no, want: none,
		},
		"row 4: dropping replicas does not scale to 1": {
			owners: of(ownership.Manifest, ownership.Default), writers: applier, drops: yes, scale: yes, want: row(4, merge.Keep),
		},
		"row 4: a template that leaves replicas empty does not scale to 1": {
			owners: of(ownership.Manifest, ownership.Default), writers: applier, manifest: null, scale: yes, want: row(4, merge.Keep),
		},
		"row 5: other fields of the manifest are deleted with it": {
			owners: of(ownership.Manifest), writers: applier, drops: yes, scale: no, want: row(5, merge.Through),
		},
		"no row: a field that an applier manages, in neither manifest and unchanged by the write": {
			owners: of(ownership.Manifest), writers: applier, manifest: lacksIt, drops: no, want: none,
		},
		"no row: the manifest sets its own field": {
			owners: of(ownership.Manifest), writers: applier, manifest: setsIt, scale: no, want: none,
		},
		"no row: the manifest sets its own replicas": {
			owners: of(ownership.Manifest), writers: applier, manifest: setsIt, scale: yes, toOne: no, toOneInDiff: no, want: none,
		},
		"row 6: the manifest takes over imperative and defaulted fields": {
			owners: of(ownership.Imperative, ownership.Default), writers: applier, manifest: setsIt, scale: no, want: row(6, merge.Through),
		},
		"row 6: the manifest takes over imperative and defaulted replicas": {
			owners: of(ownership.Imperative, ownership.Default), writers: applier, manifest: setsIt, scale: yes, toOne: no, toOneInDiff: no,
			want: row(6, merge.Through),
		},
		"row 6: replicas that become 1, and that the manifest may have dropped": {
			owners: otherThanThese, writers: applier, manifest: setsIt, scale: yes, toOne: yes, want: row(6, merge.Warn),
		},
		"row 6: replicas that kubectl diff shows as 1": {
			owners: otherThanThese, writers: applier, manifest: setsIt, scale: yes, toOne: no, toOneInDiff: yes, want: row(6, merge.Warn),
		},
		"no row: an undeclared field follows the API server's default": {
			owners: of(ownership.Default), writers: applier, manifest: lacksIt, drops: no, contradicted: no, want: none,
		},
		"no row: a defaulted field that the manifest or the write drops": {
			owners: of(ownership.Default), writers: applier, drops: yes, scale: no, want: none,
		},
		"row 7: a default that another choice of the manifest excludes is cleared": {
			owners: of(ownership.Default), writers: applier, manifest: lacksIt, drops: no, contradicted: yes, want: row(7, merge.Clear),
		},
		"row 8: null clears what no autoscaler or controller owns": {
			owners: otherThanThese, writers: applier, manifest: null, scale: no, want: row(8, merge.Through),
		},
		"row 8: null does not clear a field that row 1 keeps": {
			owners: autoscalerOrController, writers: applier, manifest: null, want: row(8, merge.Keep),
		},
		"row 9: a person is warned where an autoscaler owns the field": {
			owners: of(ownership.Autoscaler), writers: []ownership.Writer{ownership.ImperativeWriter}, want: row(9, merge.Warn),
		},
		"row 9: a person is let through elsewhere": {
			owners:  of(ownership.Controller, ownership.Manifest, ownership.Imperative, ownership.Default),
			writers: []ownership.Writer{ownership.ImperativeWriter}, want: row(9, merge.Through),
		},
		"row 10: writes of other writers pass": {
			writers: []ownership.Writer{ownership.OtherWriter}, want: row(10, merge.Through),
		},
		"row 12: a new workload starts at the count of the autoscaler, which wants more": {
			starts: true, owners: of(ownership.Autoscaler), writers: applier, want: row(12, merge.Start),
		},
		"no row: an object without an autoscaler is created unchanged": {
			starts: true, owners: of(ownership.Controller, ownership.Manifest, ownership.Imperative, ownership.Default),
			writers: applier, want: none,
		},
		"no row: an object that no applier creates is created unchanged": {
			starts: true, writers: []ownership.Writer{ownership.ImperativeWriter, ownership.OtherWriter}, want: none,
		},
	}
}

func TestLookupFollowsTheDecisionTable(t *testing.T) {
	table := expectations()
	rowAndVerdict := cmpopts.IgnoreFields(merge.Decision{}, "Name", "message")
	covered, problems, examples := map[string]int{}, map[string]int{}, map[string]string{}
	for f := range everyField() {
		var sentences []string
		for sentence, e := range table {
			if e.covers(f) {
				sentences = append(sentences, sentence)
				covered[sentence]++
			}
		}
		problem, got := "", merge.Lookup(*f)
		f.Decision = got
		before, name, after := f.Text("kept .spec.replicas=7", ".spec.replicas")
		if len(sentences) != 1 {
			slices.Sort(sentences)
			problem = fmt.Sprintf("want one sentence about it, got %q", sentences)
		} else if diff := cmp.Diff(table[sentences[0]].want, got, rowAndVerdict); diff != "" {
			problem = fmt.Sprintf("%s (-want +got):\n%s", sentences[0], diff)
		} else if got.Verdict == merge.ManifestWins || got.Verdict == merge.Record {
			problem = fmt.Sprintf("row %d: no row has verdict %s", got.Row, got.Verdict)
		} else if text := before + name + after; strings.Contains(text, "{") {
			problem = fmt.Sprintf("row %d: an unknown placeholder: %s", got.Row, text)
		}
		if problem != "" {
			problems[problem]++
			examples[problem] = fmt.Sprintf("%+v", *f)
		}
	}
	for problem, count := range problems {
		t.Errorf("%d combinations, such as %s\n%s", count, examples[problem], problem)
	}
	for sentence := range table {
		if covered[sentence] == 0 {
			t.Errorf("everyField yields no field that this is about: %s", sentence)
		}
	}
}

// TestEveryFactIsVaried fails for a fact that everyField does not know, if it is true or false.
func TestEveryFactIsVaried(t *testing.T) {
	values := map[string]int{} // a bit for each value
	for f := range everyField() {
		for _, facts := range []reflect.Value{reflect.ValueOf(*f), reflect.ValueOf(f.Field)} {
			for i := range facts.NumField() {
				if facts.Field(i).Kind() == reflect.Bool {
					values[facts.Type().Field(i).Name] |= map[bool]int{false: 1, true: 2}[facts.Field(i).Bool()]
				}
			}
		}
	}
	for fact, is := range values {
		if is != 3 {
			t.Errorf("%s has one value in all fields of everyField", fact)
		}
	}
}

// The names are labels of metrics and keys of audit annotations: people query for them.
func TestTheDocumentationHasTheNamesOfTheRows(t *testing.T) {
	got := map[string][]string{}
	for f := range everyField() {
		d := merge.Lookup(*f)
		if row := strconv.Itoa(d.Row); d.Row > 0 && !slices.Contains(got[row], d.Name) {
			got[row] = append(got[row], d.Name)
			slices.Sort(got[row])
		}
	}
	page := golden.Read(t, "../docs/decisions.md")
	want := map[string][]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \|([^|]*)\|(?:[^|]*\|){5}$`).FindAllStringSubmatch(page, -1) {
		for _, name := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[2], -1) {
			want[row[1]] = append(want[row[1]], name[1])
		}
		slices.Sort(want[row[1]])
	}
	expect.Equal(t, "names by row, of docs/decisions.md and of the table", want, got)
}

// everyField yields every combination of what the decision table looks at.
func everyField() func(yield func(*merge.Change) bool) {
	return func(yield func(*merge.Change) bool) {
		for _, owner := range owners {
			for _, writer := range writers {
				for _, manifest := range declarations {
					for _, base := range declarations {
						for flags := range 1 << 12 {
							is := func(bit int) bool { return flags>>bit&1 != 0 }
							if !yield(&merge.Change{
								Field: ownership.ContestedField{
									Owner: ownership.FieldOwner{Kind: owner}, Declared: ownership.Declared{Manifest: manifest, Base: base},
									Scale: is(0), Unit: is(1), Removed: is(2), Edited: is(3), Editable: is(10), Atomic: flags >> 11,
									Contradicts: map[bool]string{true: "OnDelete"}[is(5)],
								},
								Writer: writer, Starts: is(4), OffAtZero: is(0) && is(6), ToOne: is(0) && is(7),
								Unrecorded: is(0) && is(8), ToOneInDiff: is(0) && is(9),
							}) {
								return
							}
						}
					}
				}
			}
		}
	}
}
