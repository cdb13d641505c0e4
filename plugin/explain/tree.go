package explain

import (
	"fmt"
	"io"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
)

// mostValue is how many characters of a value a tree shows.
const mostValue = 40

// node is a place of the tree: a container, or what one owner holds whole.
type node struct {
	element fieldpath.PathElement
	fold    *ownership.Fold
	kids    []*node
}

// ownerAt is where each table has the owner.
const ownerAt = 2

// colourOf gives each owner a colour: what outlives an apply is warm, what a manifest holds green.
func colourOf(owner ownership.Owner) int {
	return map[ownership.Owner]int{
		ownership.Autoscaler: 35, ownership.Controller: 36, ownership.Imperative: 33,
		ownership.Manifest: 32, ownership.Default: 90, ownership.Unknown: 31,
		ownership.Other: 36,
	}[owner]
}

// Tree writes the object as a tree, in which what one owner holds whole is one line. Of these, those whose owner is chosen
// are written.
func (e Explanation) Tree(w io.Writer, style table.Style, chosen func(ownership.Owner) bool) error {
	root := &node{}
	folds := e.Fields.Fold()
	for i := range folds {
		if chosen(folds[i].Owner) {
			root.add(folds[i].Path, &folds[i])
		}
	}
	rows := []table.Row{}
	if root.fold != nil {
		rows = append(rows, e.treeRow(style, ".", root.fold))
	}
	rows = e.treeRows(rows, style, root.kids, "")
	head := []string{e.Title(), "VALUE", "OWNER", "MANAGER", "MANIFEST", "SINCE"}
	return style.Write(w, head, rows)
}

func (n *node) add(path fieldpath.Path, fold *ownership.Fold) {
	if len(path) == 0 {
		n.fold = fold
		return
	}
	for _, kid := range n.kids {
		if kid.element.Equals(path[0]) {
			kid.add(path[1:], fold)
			return
		}
	}
	kid := &node{element: path[0]}
	n.kids = append(n.kids, kid)
	kid.add(path[1:], fold)
}

func (e Explanation) treeRows(rows []table.Row, style table.Style, nodes []*node, indent string) []table.Row {
	for i, n := range nodes {
		branch, beneath := "├─ ", "│  "
		if i == len(nodes)-1 {
			branch, beneath = "└─ ", "   "
		}
		// What leads to one place only is one line.
		path := fieldpath.Path{n.element}
		for n.fold == nil && len(n.kids) == 1 {
			n = n.kids[0]
			path = append(path, n.element)
		}
		label := Text(path)
		if n.fold == nil {
			rows = append(rows, table.Row{Cells: []string{indent + branch + label}})
		} else {
			rows = append(rows, e.treeRow(style, indent+branch+label, n.fold))
		}
		rows = e.treeRows(rows, style, n.kids, indent+beneath)
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
		Cells:  []string{label, value, fold.Owner.String(), table.Dash(fold.By), declared, style.Age(since)},
		Colour: colourOf(fold.Owner), At: ownerAt,
	}
}

// foldValue is what a fold holds and how much of that the manifest declares.
func (e Explanation) foldValue(fold *ownership.Fold) (value, declared string) {
	if len(fold.Fields) == 1 {
		f := &fold.Fields[0]
		return table.Shorten(e.Show(f.Path, f.Value), mostValue), table.Shorten(e.declared(f), mostValue)
	}
	counts := map[string]int{}
	for i := range fold.Fields {
		counts[e.declared(&fold.Fields[i])]++
	}
	value = fmt.Sprintf("(%d fields)", len(fold.Fields))
	for _, all := range []string{"yes", "no", "?"} {
		if counts[all] == len(fold.Fields) {
			return value, all
		}
	}
	return value, fmt.Sprintf("yes for %d", counts["yes"])
}
