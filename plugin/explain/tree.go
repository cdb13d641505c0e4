package explain

import (
	"fmt"
	"io"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
)

// maxValueLen limits the length of a displayed value.
const maxValueLen = 40

// node is a node of the tree: a subtree with a single owner if fold is set, otherwise a parent of such subtrees.
type node struct {
	element  fieldpath.PathElement
	fold     *ownership.Fold
	children []*node
}

// ownerAt is the index of the owner column.
const ownerAt = 2

// colorOf returns the color of an owner.
func colorOf(owner ownership.Owner) int {
	return map[ownership.Owner]int{
		ownership.Autoscaler: 35, ownership.Controller: 36, ownership.Imperative: 33,
		ownership.Manifest: 32, ownership.Default: 90, ownership.Unknown: 31,
		ownership.Other: 36,
	}[owner]
}

// Tree writes the object as a tree with one line for each subtree that has a single owner. It leaves out the subtrees of owners
// that are not chosen.
func (e Explanation) Tree(w io.Writer, style table.Style, chosen func(ownership.Owner) bool) error {
	root := &node{}
	folds := e.Fields.Fold()
	for i := range folds {
		if chosen(folds[i].Owner.Kind) {
			root.add(folds[i].Path, &folds[i])
		}
	}
	rows := []table.Row{}
	if root.fold != nil {
		rows = append(rows, e.treeRow(style, ".", root.fold))
	}
	rows = e.treeRows(rows, style, root.children, "")
	head := []string{e.Subject.Title(), "VALUE", "OWNER", "MANAGER", "MANIFEST", "SINCE"}
	return style.Write(w, head, rows)
}

func (n *node) add(path fieldpath.Path, fold *ownership.Fold) {
	if len(path) == 0 {
		n.fold = fold
		return
	}
	for _, child := range n.children {
		if child.element.Equals(path[0]) {
			child.add(path[1:], fold)
			return
		}
	}
	child := &node{element: path[0]}
	n.children = append(n.children, child)
	child.add(path[1:], fold)
}

func (e Explanation) treeRows(rows []table.Row, style table.Style, nodes []*node, indent string) []table.Row {
	for i, n := range nodes {
		branch, nested := "├─ ", "│  "
		if i == len(nodes)-1 {
			branch, nested = "└─ ", "   "
		}
		// Nodes with a single child share its line.
		path := fieldpath.Path{n.element}
		for n.fold == nil && len(n.children) == 1 {
			n = n.children[0]
			path = append(path, n.element)
		}
		label := Text(path)
		if n.fold == nil {
			rows = append(rows, table.Row{Cells: []string{indent + branch + label}})
		} else {
			rows = append(rows, e.treeRow(style, indent+branch+label, n.fold))
		}
		rows = e.treeRows(rows, style, n.children, indent+nested)
	}
	return rows
}

func (e Explanation) treeRow(style table.Style, label string, fold *ownership.Fold) table.Row {
	value, declared := e.foldValue(fold)
	since := ""
	for i := range fold.Fields {
		since = max(since, fold.Fields[i].Since) // RFC 3339 in UTC, as the API server writes it, sorts by time
	}
	return table.Row{
		Cells: []string{label, value, fold.Owner.Kind.String(), table.Dash(fold.Owner.By), declared, style.Age(since)},
		Color: colorOf(fold.Owner.Kind), At: ownerAt,
	}
}

// foldValue returns the value of a fold, and which part of it the manifest declares.
func (e Explanation) foldValue(fold *ownership.Fold) (value, declared string) {
	if len(fold.Fields) == 1 {
		f := &fold.Fields[0]
		return table.Shorten(e.Subject.Show(f.Path, f.Value), maxValueLen), table.Shorten(e.declared(f), maxValueLen)
	}
	counts := map[string]int{}
	for i := range fold.Fields {
		counts[e.declared(&fold.Fields[i])]++
	}
	value = fmt.Sprintf("(%d fields)", len(fold.Fields))
	for _, answer := range []string{"yes", "no", "?"} {
		if counts[answer] == len(fold.Fields) {
			return value, answer
		}
	}
	return value, fmt.Sprintf("yes for %d", counts["yes"])
}
