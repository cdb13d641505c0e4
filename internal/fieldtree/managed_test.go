package fieldtree_test

import (
	"errors"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

func TestIsLeaf(t *testing.T) {
	for sentence, c := range map[string]struct {
		fields string
		want   bool
	}{
		"nothing below":                {`{}`, true},
		"only the container itself":    {"{ \".\" : { } }", true},
		"a field":                      {`{"f:a":{}}`, false},
		"the container and a field":    {`{".":{},"f:a":{}}`, false},
		"a text that is not an object": {`1`, true},
	} {
		expect.Equal(t, sentence, c.want, fieldtree.IsLeaf(jsontree.Valid([]byte(c.fields))))
	}
}

// everything matches each element of a path.
func everything(string, string) (next string, all, ok bool) { return "", true, true }

func want(n *fieldtree.Node) { n.Wanted = true }

func TestAddMatchingReportsInvalidElements(t *testing.T) {
	for _, name := range []string{"x", "", "q:1", "k:1", "v:{", "i:x"} {
		err := fieldtree.AddMatching(&fieldtree.Tree{}, jsontree.Valid([]byte(`{"f:a":{"`+name+`":{}}}`)), "", everything, want, nil)
		if !errors.Is(err, fieldtree.ErrElement) || err.Error() != fieldtree.ErrElement.Error() {
			t.Errorf("%q: want %v, got %v", name, fieldtree.ErrElement, err)
		}
	}
}

func TestAddMatchingStopsAtMaxDepth(t *testing.T) {
	for _, depth := range []int{jsontree.MaxDepth, jsontree.MaxDepth + 1} {
		set := fieldpath.NewSet(nested(depth))
		fields, err := set.ToJSON()
		expect.NoError(t, err)
		got := &fieldtree.Tree{}
		expect.NoError(t, fieldtree.AddMatching(got, jsontree.Valid(fields), "", everything, want, nil))
		if want := depth <= jsontree.MaxDepth; (len(wanted(got)) == 1) != want || got.Len() > jsontree.MaxDepth {
			t.Errorf("depth %d: %d nodes, wanted %s", depth, got.Len(), wanted(got))
		}
	}
}
