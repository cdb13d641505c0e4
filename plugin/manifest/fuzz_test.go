package manifest_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// FuzzApply removes some of the fields of a file. Unless Apply returns an error, the result consists of the same values without
// these fields, and of the same comment lines.
func FuzzApply(f *testing.F) {
	for _, text := range []string{
		"kind: A\nspec:\n  a: 1 # one\n  # two\n  b: [x, {c: 1}]\n  d: {e: f, g: h}\n---\n# next\nkind: B\n",
		"{\"kind\": \"A\", \"spec\": {\"a\": 1, \"b\": {\"c\": null, \"d\": [1, 2]}}}\n",
		"kind: List\nitems:\n- kind: A\n  spec: {a: 1, b: 2}\n- x: |\n    # y\n  z: >-\n    a\n    b\n",
		"a: &a {b: 1, c: 2}\nd: *a\ne:\n  <<: *a\n  f: 'x''y'\n  \"g\": \"h\\\"i\"\n",
		"\ufeffa:\r\n  b: 1\r\n  c:\r\n  d: ü\r\n",
		"a: {\n  # b\n  b: 1, # c\n  # d\n  d: 2 # e\n}\n",
		"? a\n: b\nc: !!str d\ne: &x\n  f: 1\n",
	} {
		f.Add(text, uint64(0x5555555555555555))
		f.Add(text, uint64(0xAAAAAAAAAAAAAAAA))
	}
	f.Add("{0 \",A: {A: {0\"}}}", uint64(9223372036854775784)) // quotes within plain scalars
	f.Fuzz(func(t *testing.T, text string, choice uint64) {
		if len(text) > 4096 || strings.Contains(text, "<<") && strings.Count(text, "*") > 4 {
			return // merges of merges take exponential time in the decoder that computes the expected values
		}
		s, err := manifest.Parse(source.Text{Name: "f", Content: []byte(text)})
		if err != nil || len(s.Objects) == 0 {
			return
		}
		before, err := valuesOf(text)
		if err != nil || len(before) == 0 {
			return
		}
		object := s.Objects[0]
		if root, ok := before[0].(map[string]any); !ok || root["items"] != nil {
			return
		}
		places := chosenPlaces(object, choice, s.IsShared)
		wide := manifest.Widen(places)
		removed := map[int]bool{} // lines
		var names [][]string
		for _, at := range wide {
			names = append(names, namesOf(object.Node, at.Node))
			first, last := s.Lines(at)
			for line := first; line <= last; line++ {
				removed[line] = true
			}
		}
		after, err := s.Apply(wide)
		if err != nil {
			return
		}
		for _, names := range names {
			removeAt(before[0], names)
		}
		got, err := valuesOf(string(after))
		if err != nil {
			t.Fatalf("%v in\n%s\nfrom\n%s", err, after, text)
		}
		if diff := cmp.Diff(before, got); diff != "" {
			t.Errorf("(-want +got):\n%s\n%s\nfrom\n%s", diff, after, text)
		}
		if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\r\u0085\u2028\u2029") {
			return // a comment after a removed field can stay after these line breaks
		}
		if want, is := commentsOutside(text, removed), commentsOutside(string(after), nil); want != is {
			t.Errorf("want the comments\n%s\ngot\n%s\nin\n%s\nfrom\n%s", want, is, after, text)
		}
	})
}

// chosenPlaces returns the fields of an object that the bits of a number choose, none nested in another.
func chosenPlaces(o manifest.Object, choice uint64, isShared func(*manifest.Place) bool) (places []*manifest.Place) {
	bit := 0
	var visit func(node *yaml.Node, path fieldpath.Path)
	visit = func(node *yaml.Node, path fieldpath.Path) {
		if node.Kind != yaml.MappingNode || len(path) > 8 {
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			name := node.Content[i].Value
			if node.Content[i].Tag != "!!str" {
				continue
			}
			to := append(path.Copy(), fieldpath.PathElement{FieldName: &name})
			bit++
			if len(path) > 0 && choice&(1<<(bit%64)) != 0 {
				if at := o.Find(to); at != nil && at.Node == node.Content[i+1] && !isShared(at) {
					places = append(places, at)
				}
				continue
			}
			visit(node.Content[i+1], to)
		}
	}
	visit(o.Node, nil)
	return places
}

// namesOf returns the names of the fields that lead to a node.
func namesOf(in, node *yaml.Node) []string {
	for i := 0; i+1 < len(in.Content) && in.Kind == yaml.MappingNode; i += 2 {
		if in.Content[i+1] == node {
			return []string{in.Content[i].Value}
		}
		if rest := namesOf(in.Content[i+1], node); rest != nil {
			return append([]string{in.Content[i].Value}, rest...)
		}
	}
	return nil
}

func removeAt(value any, names []string) {
	if object, ok := value.(map[any]any); ok && len(names) > 0 {
		if len(names) == 1 {
			delete(object, names[0])
		}
		removeAt(object[names[0]], names[1:])
		return
	}
	object, ok := value.(map[string]any)
	switch {
	case !ok || len(names) == 0:
	case len(names) == 1:
		delete(object, names[0])
	default:
		removeAt(object[names[0]], names[1:])
	}
}

func valuesOf(text string) (values []any, err error) {
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var value any
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			return values, nil
		} else if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
}

// commentsOutside returns the lines that begin with a number sign, apart from those of removed places.
func commentsOutside(text string, removed map[int]bool) string {
	var comments bytes.Buffer
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") && !removed[i+1] {
			comments.WriteString(line + "\n")
		}
	}
	return comments.String()
}
