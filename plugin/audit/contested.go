package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// mark is before the owners that contested fields get, so that no manager is called the same.
const mark = "\x00"

// contested looks for fields that two managers fight over. Those that the same ones fight over are one risk where a container
// holds nothing else that somebody has declared.
func (a *auditor) contested(e explain.Explanation) {
	author := annotator(e)
	fights := map[string]fight{}
	fields := make(ownership.Fields, 0, len(e.Fields))
	for i := range e.Fields {
		f := e.Fields[i] // a copy, whose owner is of this function alone
		found := fightOver(e, author, &f)
		switch {
		case found.is():
			f.Owned = ownership.Owned{Owner: f.Owner, By: mark + found.writer + mark + strings.Join(found.speakers, mark)}
			fights[f.By] = found
		case f.Owner == ownership.Default, f.Value == nil:
			continue // splits no container
		}
		fields = append(fields, f)
	}
	if len(fights) == 0 {
		return
	}
	for _, fold := range fields.Fold() {
		found, contested := fights[fold.By]
		onlyKeys := !slices.ContainsFunc(fold.Fields, func(f ownership.Field) bool { return !isKey(f.Path) })
		if contested && (!onlyKeys || found.writer != "") {
			a.fought(e, fold, found)
		}
	}
}

// fought adds the risk of a fold.
func (a *auditor) fought(e explain.Explanation, fold ownership.Fold, found fight) {
	r := a.riskOf(Contested, e, fold.Fields)
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
	r.Handoff = handoff(r.Mode, kept)
	r.NextApply = nextOf(e, fold, found)
	r.Managers = found.speakers
	if found.writer == "" {
		r.Remedies = []string{"take " + r.Field + " out of one of the manifests"}
		a.add(r)
		return
	}
	r.Managers = append([]string{found.writer}, found.speakers...)
	if kept == "" {
		r.Remedies = append(r.Remedies, giving(e, r.Field))
	}
	if r.Mode != ownership.ModeEnforce {
		r.Remedies = append(r.Remedies, enabling(e.Subject))
	}
	r.Remedies = append(r.Remedies, releasing(e, r.Field), "take "+r.Field+" out of the manifest")
	a.add(r)
}

// nextOf says what the next apply does to fields that are fought over.
func nextOf(e explain.Explanation, fold ownership.Fold, found fight) string {
	first := &fold.Fields[0]
	sets := ""
	switch {
	case len(fold.Fields) == 1 && first.DeclaredValue != nil:
		sets = "sets " + e.Short(first.Path, first.DeclaredValue)
	case first.DeclaredValue != nil:
		sets = "sets what the manifest says"
	}
	both := strings.Join(found.speakers, " and ")
	switch {
	case found.writer != "":
		return sets + ", against " + found.writer
	case sets != "":
		return sets + ": " + both + " differ"
	case serverSide(first):
		return "is a conflict, once " + both + " differ"
	default:
		return "sets it back, once " + both + " differ"
	}
}

// serverSide says whether all who claim a field for a manifest do so by server-side apply.
func serverSide(f *ownership.Field) bool {
	return !slices.ContainsFunc(f.Holders, func(h ownership.Entry) bool { return h.Operation != ownership.OperationApply })
}
