package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// contestedFields are fields of an object with the contests for them. The contests have the same indexes as the fields.
type contestedFields struct {
	fields   ownership.Fields
	contests []contest
}

// contestedFieldsOf returns the fields of an object. It leaves out fields that do not split their parent: defaults, and fields
// that the object lacks.
func contestedFieldsOf(e explain.Explanation) contestedFields {
	clientSide := clientSideApplier(e)
	var c contestedFields
	for i := range e.Fields {
		f := &e.Fields[i]
		found := contestOf(e, clientSide, f)
		if found.exists() || f.Owner.Kind != ownership.Default && f.Value != nil {
			c.fields, c.contests = append(c.fields, *f), append(c.contests, found)
		}
	}
	return c
}

// addContested adds a risk for fields that several managers write. Fields with the same contenders are one risk if their common
// parent has no other declared fields.
func (a *auditor) addContested(e explain.Explanation) {
	c := contestedFieldsOf(e)
	same := func(x, y int) bool { return c.contests[x].equal(c.contests[y]) }
	for _, fold := range c.fields.FoldBy(same) {
		found := c.contests[fold.First]
		onlyKeys := !slices.ContainsFunc(fold.Fields, func(f ownership.Field) bool { return !isKey(f.Path) })
		if found.exists() && (!onlyKeys || found.writer != "") {
			a.addContest(e, fold, found)
		}
	}
}

// addContest adds the risk of a fold.
func (a *auditor) addContest(e explain.Explanation, fold ownership.Fold, found contest) {
	answer := a.answerOf(e.Subject)
	r := riskOf(Contested, e, answer, fold.Fields)
	r.Field = explain.Text(fold.Path)
	if r.Field == "" {
		r.Field = "."
	}
	first := &fold.Fields[0]
	r.Now = e.Short(first.Path, first.Value)
	if len(fold.Fields) > 1 {
		r.Now = fmt.Sprintf("(%d fields)", len(fold.Fields))
	}
	kept := ""
	if e.Keeps(first, ownership.Sets, ownership.Sets) {
		kept = r.Now
		if len(fold.Fields) > 1 {
			kept = "them"
		}
	}
	r.Handoff = handoff(answer, kept)
	r.NextApply = nextOf(e, fold, found)
	r.Managers = found.appliers
	if found.writer == "" {
		r.Remedies = []string{"remove " + r.Field + " from one of the manifests"}
		a.add(r)
		return
	}
	r.Managers = append([]string{found.writer}, found.appliers...)
	if kept == "" {
		r.Remedies = append(r.Remedies, assignCommand(e, r.Field))
	}
	if r.Mode != ownership.ModeEnforce {
		r.Remedies = append(r.Remedies, a.enableRemedies(e.Subject, answer)...)
	}
	r.Remedies = append(r.Remedies, releaseCommand(e, r.Field), "remove "+r.Field+" from the manifest")
	a.add(r)
}

// nextOf returns what the next apply does to contested fields.
func nextOf(e explain.Explanation, fold ownership.Fold, found contest) string {
	first := &fold.Fields[0]
	sets := ""
	switch {
	case len(fold.Fields) == 1 && first.DeclaredValue != nil:
		sets = "sets " + e.Short(first.Path, first.DeclaredValue)
	case first.DeclaredValue != nil:
		sets = "sets the manifest's values"
	}
	all := strings.Join(found.appliers, " and ")
	switch {
	case found.writer != "":
		return sets + ", overwriting " + found.writer
	case sets != "":
		return sets + ", as " + all + " differ"
	case serverSide(first):
		return "conflicts once " + all + " differ"
	default:
		return "overwrites the other once " + all + " differ"
	}
}

// serverSide reports whether all managers of a field use server-side apply.
func serverSide(f *ownership.Field) bool {
	return !slices.ContainsFunc(f.Entries, func(h ownership.Entry) bool { return h.Operation != ownership.OperationApply })
}
