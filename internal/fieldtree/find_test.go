package fieldtree_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

func TestFindMissingAndPointer(t *testing.T) {
	port := func(number int, protocol string) *value.FieldList {
		return fieldpath.KeyByFields("containerPort", number, "protocol", protocol)
	}
	for sentence, c := range map[string]struct {
		text             string
		path             fieldpath.Path
		value            string
		missing, pointer string
	}{
		"a field":                                 {`{"a":{"b":7}}`, path("a", "b"), "7", "", "/a/b"},
		"a field between others":                  {`{"x":[{"a":1}],"a":{"a":{},"b":7},"b":8}`, path("a", "b"), "7", "", "/a/b"},
		"a field with white space around it":      {" { \"a\"\n:\t[ 1 , 2 ] } ", path("a"), "[ 1 , 2 ]", "", "/a"},
		"a name that is escaped":                  {`{"\u0061\"":{"\/~":1}}`, path(`a"`, "/~"), "1", "", `/a"/~1~0`},
		"a field that is null":                    {`{"a":null}`, path("a"), "null", "", "/a"},
		"a field of null":                         {`{"a":null}`, path("a", "b"), "", ".a.b", ""},
		"a field of a text":                       {`{"a":"{\"b\":1}"}`, path("a", "b"), "", ".a.b", ""},
		"a field of a list":                       {`{"a":[{"b":1}]}`, path("a", "b"), "", ".a.b", ""},
		"a field that is missing":                 {`{"a":{}}`, path("a", "b"), "", ".a.b", ""},
		"a parent that is missing":                {`{"a":{}}`, path("a", "b", "c", "d"), "", ".a.b", ""},
		"an empty object":                         {`{}`, path("a", "b"), "", ".a", ""},
		"an empty text":                           {``, path("a", "b"), "", ".a", ""},
		"no object":                               {`"a"`, path("a"), "", ".a", ""},
		"an element by its key":                   {`{"l":[{"name":"a"},{"x":1,"name":"b"}]}`, path("l", named("b"), "x"), "1", "", "/l/1/x"},
		"the first element of two with a key":     {`{"l":[{"name":"a","x":1},{"name":"a","x":2}]}`, path("l", named("a"), "x"), "1", "", "/l/0/x"},
		"no field of the second element":          {`{"l":[{"name":"a"},{"name":"a","x":2}]}`, path("l", named("a"), "x"), "", `.l[name="a"].x`, ""},
		"a key with a defaulted protocol":         {`{"l":[{"containerPort":80}]}`, path("l", port(80, "TCP")), `{"containerPort":80}`, "", "/l/0"},
		"a key with another protocol":             {`{"l":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}]}`, path("l", port(80, "UDP"), "protocol"), `"UDP"`, "", "/l/1/protocol"},
		"a key of which a field is an object":     {`{"l":[{"name":{}}]}`, path("l", named("a")), "", `.l[name="a"]`, ""},
		"a key of which a field is another type":  {`{"l":[{"name":1}]}`, path("l", named("1")), "", `.l[name="1"]`, ""},
		"a key in a list of texts":                {`{"l":["name","a"]}`, path("l", named("a")), "", `.l[name="a"]`, ""},
		"a text of a set":                         {`{"l":["a",1,"\u0062"]}`, path("l", value.NewValueInterface("b")), `"\u0062"`, "", "/l/2"},
		"a number of a set":                       {`{"l":["1",1.0,1]}`, path("l", value.NewValueInterface(1)), `1.0`, "", "/l/1"},
		"null in a set":                           {`{"l":[{},null]}`, path("l", value.NewValueInterface(nil)), `null`, "", "/l/1"},
		"a position":                              {`{"l":[1,[2,[3]]]}`, path("l", 1, 1, 0), "3", "", "/l/1/1/0"},
		"a position behind the last":              {`{"l":[1]}`, path("l", 1), "", ".l[1]", ""},
		"a position in an object":                 {`{"l":{"0":1}}`, path("l", 0), "", ".l[0]", ""},
		"an element in an empty list":             {`{"l":[]}`, path("l", named("a"), "x"), "", `.l[name="a"]`, ""},
		"a key with a quote, and a name likewise": {`{"l":[{"name":"a\"b"}]}`, path("l", named(`a"b`), "name"), `"a\"b"`, "", "/l/0/name"},
	} {
		t.Run(sentence, func(t *testing.T) {
			tree, nodes := treeOf(c.path)
			root := jsontree.Valid([]byte(c.text))
			places := tree.Find(root)
			if diff := cmp.Diff(c.value, string(places.Of(nodes[0]).Text())); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			missing := ""
			if n := places.Missing(nodes[0]); n != nil {
				missing = n.Path().String()
			}
			if diff := cmp.Diff(c.missing, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			if c.pointer == "" {
				return
			}
			if diff := cmp.Diff(c.pointer, places.Pointer(root, nodes[0])); diff != "" {
				t.Errorf("pointer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindFindsAllPathsInOnePass(t *testing.T) {
	text := []byte(`{"l":[{"name":"a","x":{"y":1}},"s",{"name":"b","x":2}],"m":{"n":3}}`)
	want := map[string]string{
		".l": `[{"name":"a","x":{"y":1}},"s",{"name":"b","x":2}]`, `.l[name="a"].x.y`: "1", `.l[name="a"].x`: `{"y":1}`,
		`.l[name="b"].x`: "2", `.l[="s"]`: `"s"`, ".m.n": "3", ".m.o": "",
	}
	tree, nodes := treeOf(path("m", "n"), path("l", named("b"), "x"), path("l"), path("l", named("a"), "x", "y"),
		path("l", value.NewValueInterface("s")), path("m", "o"), path("l", named("a"), "x"))
	places := tree.Find(jsontree.Valid(text))
	got := map[string]string{}
	for _, n := range nodes {
		got[n.Path().String()] = string(places.Of(n).Text())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestAddLeaves(t *testing.T) {
	for sentence, c := range map[string]struct {
		text string
		want []string
	}{
		"a scalar":                             {`{"a":1}`, []string{".a"}},
		"each scalar in objects":               {`{"a":{"b":1,"c":{"d":"x","e":false}},"f":1}`, []string{".a.b", ".a.c.d", ".a.c.e", ".f"}},
		"null and an empty object add nothing": {`{"a":{"b":null,"c":{},"d":{"e":{}}}}`, nil},
		"a list":                               {`{"a":{"b":[{"c":1}],"d":[]}}`, []string{".a.b", ".a.d"}},
		"names that are escaped":               {`{"\u0061":{"\"":1}}`, []string{`.a."`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			into := &fieldtree.Tree{}
			into.AddLeaves(jsontree.Valid([]byte(c.text)))
			if diff := cmp.Diff(c.want, wanted(into)); diff != "" {
				t.Errorf("leaves (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAddLeavesAddsDeepValuesAsLeaves(t *testing.T) {
	text := "1"
	for i := range fieldtree.MaxDepth + 5 {
		text = fmt.Sprintf(`{"%d":%s}`, fieldtree.MaxDepth+4-i, text)
	}
	into := &fieldtree.Tree{}
	into.AddLeaves(jsontree.Valid([]byte(text)))
	if diff := cmp.Diff([]string{nested(fieldtree.MaxDepth).String()}, wanted(into)); diff != "" {
		t.Errorf("leaves (-want +got):\n%s", diff)
	}
}
