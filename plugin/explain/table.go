package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
)

// maxValueLen limits the length of a displayed value.
const maxValueLen = 40

// Tree writes the object as a tree with one line for each subtree that has a single owner. It leaves out the subtrees of owners
// that are not chosen.
func (e Explanation) Tree(w io.Writer, now time.Time, chosen func(ownership.Owner) bool) error {
	folds := e.folds(chosen)
	rows := e.treeRows(now, folds, 0, "")
	if len(folds) == 1 && len(folds[0].path) == 0 {
		rows = [][]string{e.treeRow(now, ".", &folds[0])}
	}
	return table.Write(w, []string{e.Subject.Title(), "VALUE", "OWNER", "MANAGER", "MANIFEST", "SINCE"}, rows)
}

// fold is a subtree with a single owner: all fields at a path or nested under it.
type fold struct {
	path   fieldpath.Path // that of a single field, else the longest prefix that the paths have in common
	fields ownership.OwnedFields
}

// folds returns the largest subtrees with a single owner that is chosen.
func (e Explanation) folds(chosen func(ownership.Owner) bool) []fold {
	return slices.DeleteFunc(foldsOf(e.Fields, 0), func(f fold) bool { return !chosen(f.fields[0].Owner.Kind) })
}

// foldsOf returns the folds of fields whose paths have the first depth elements in common.
func foldsOf(fields ownership.OwnedFields, depth int) (folds []fold) {
	isOthers := func(f ownership.OwnedField) bool { return f.Owner != fields[0].Owner }
	if len(fields) > 0 && !slices.ContainsFunc(fields, isOthers) {
		path, last := fields[0].Path, fields[len(fields)-1].Path // in the order of the object
		return []fold{{path[:shared(path, last)], fields}}
	}
	for len(fields) > 0 {
		count := 1
		for count < len(fields) && shared(fields[0].Path, fields[count].Path) > depth {
			count++
		}
		folds = append(folds, foldsOf(fields[:count], depth+1)...)
		fields = fields[count:]
	}
	return folds
}

// shared returns how many elements two paths have in common at the beginning.
func shared(a, b fieldpath.Path) (count int) {
	for count < min(len(a), len(b)) && a[count].Equals(b[count]) {
		count++
	}
	return count
}

// treeRows returns the rows of subtrees whose paths have the first depth elements in common.
func (e Explanation) treeRows(now time.Time, folds []fold, depth int, indent string) (rows [][]string) {
	for len(folds) > 0 {
		path, count := folds[0].path, 1
		for count < len(folds) && shared(path, folds[count].path) > depth {
			count++
		}
		branch, nested := "├─ ", "│  "
		if count == len(folds) {
			branch, nested = "└─ ", "   "
		}
		if count == 1 {
			rows = append(rows, e.treeRow(now, indent+branch+Text(path[depth:]), &folds[0]))
		} else {
			parent := shared(path, folds[count-1].path) // parents of a single parent share its line
			rows = append(rows, []string{indent + branch + Text(path[depth:parent])})
			rows = append(rows, e.treeRows(now, folds[:count], parent, indent+nested)...)
		}
		folds = folds[count:]
	}
	return rows
}

func (e Explanation) treeRow(now time.Time, label string, f *fold) []string {
	first, since := &f.fields[0], ""
	for i := range f.fields {
		since = max(since, f.fields[i].Since) // RFC 3339 in UTC, as the API server writes it, sorts by time
	}
	value := e.Short(first.Path, first.Value)
	if len(f.fields) > 1 {
		value = fmt.Sprintf("(%d fields)", len(f.fields))
	}
	return []string{
		label, value, first.Owner.Kind.String(), cmp.Or(first.Owner.By, "-"), e.declaredOf(f.fields), table.Age(since, now),
	}
}

// declaredOf returns which part of the fields the manifest declares.
func (e Explanation) declaredOf(fields ownership.OwnedFields) string {
	counts := map[string]int{}
	for i := range fields {
		counts[e.declared(&fields[i])]++
	}
	for answer := range counts {
		if len(fields) == 1 || len(counts) == 1 && slices.Contains([]string{"yes", "no", "?"}, answer) {
			return table.Shorten(answer, maxValueLen)
		}
	}
	return fmt.Sprintf("yes for %d", counts["yes"])
}

// Short returns a value as the tree shows it: shortened, and masked for the contents of a Secret.
func (e Explanation) Short(path fieldpath.Path, value []byte) string {
	return table.Shorten(e.Subject.Show(path, value), maxValueLen)
}
