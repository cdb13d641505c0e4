package twoway

import (
	"fmt"

	"github.com/ownership-handoff/handoff/internal/jsonnode"
)

// read returns the node of an input.
func read(r *jsonnode.Reader, input string, text []byte) (node, error) {
	n, err := r.Read(text)
	if err != nil {
		err = &InputError{Input: input, Err: fmt.Errorf("decoding JSON: %w", err)}
	}
	return n, err
}

// rewrite makes AppendText rewrite all of a manifest, with sorted names.
func rewrite(n *node) {
	n.Rewrite = true
	if n.Kind == '{' {
		n.Sort()
	}
	for i := range n.Children {
		rewrite(&n.Children[i].Node)
	}
}

// sortMade sorts the members of the objects that the merge has made.
func sortMade(n *node) {
	if !n.IsMade() {
		return
	}
	if n.Kind == '{' {
		n.Sort()
	}
	for i := range n.Children {
		sortMade(&n.Children[i].Node)
	}
}

// rewriteBeside makes AppendText rewrite what live has beside the manifest: the same fields, and the elements of the same lists.
// An element's fields are those that the manifest has at the same index, or those that merge later. It does nothing for decoded
// values, nor for what it has visited before.
func rewriteBeside(live, manifest *node) {
	switch {
	case live.Rewrite || live.Text == "":
		return
	case live.Kind == '{' && manifest.Kind == '{':
		live.Sort()
		for i := range live.Children {
			if want := manifest.Field(live.Children[i].Name, i); want != nil && want.Kind != 'n' {
				rewriteBeside(&live.Children[i].Node, want)
			}
		}
	case live.Kind == '[' && manifest.Kind == '[':
		none := &node{Kind: '{'}
		for i := range live.Children {
			want := none
			if i < len(manifest.Children) && manifest.Children[i].Node.Kind == '{' {
				want = &manifest.Children[i].Node
			}
			rewriteBeside(&live.Children[i].Node, want)
		}
	case live.IsContainer():
		return
	}
	live.Rewrite = true
}
