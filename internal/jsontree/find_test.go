package jsontree_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

func TestNearest(t *testing.T) {
	live := jsontree.Valid([]byte(`{"metadata":{"finalizers":["a/b","c"],"labels":{"x~y/z":"1"}},"spec":{"containers":[{"name":"side"},` +
		`{"name":"app","ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}],"args":["-v","-x"]}],` +
		`"routes":[{"to":{"host":"a"},"w":1},{"to":{"host":"b"},"w":2},{"to.host":"c","w":3}]}}`))
	app := fieldpath.KeyByFields("name", "app")
	for sentence, c := range map[string]struct {
		path    fieldpath.Path
		value   string
		pointer string
		found   int
	}{
		"a field":                          {fieldpath.MakePathOrDie("metadata", "labels", "x~y/z"), `"1"`, "/metadata/labels/x~0y~1z", 3},
		"an element by its key":            {fieldpath.MakePathOrDie("spec", "containers", app, "name"), `"app"`, "/spec/containers/1/name", 4},
		"an element by a defaulted key":    {fieldpath.MakePathOrDie("spec", "containers", app, "ports", fieldpath.KeyByFields("containerPort", 80, "protocol", "TCP")), `{"containerPort":80}`, "/spec/containers/1/ports/0", 5},
		"an element by two keys":           {fieldpath.MakePathOrDie("spec", "containers", app, "ports", fieldpath.KeyByFields("containerPort", 80, "protocol", "UDP")), `{"containerPort":80,"protocol":"UDP"}`, "/spec/containers/1/ports/1", 5},
		"an element by a nested field":     {fieldpath.MakePathOrDie("spec", "routes", fieldpath.KeyByFields("to.host", "b"), "w"), "2", "/spec/routes/1/w", 4},
		"an element by a name with a dot":  {fieldpath.MakePathOrDie("spec", "routes", fieldpath.KeyByFields("to.host", "c"), "w"), "3", "/spec/routes/2/w", 4},
		"a member of a set":                {fieldpath.MakePathOrDie("metadata", "finalizers", value.NewValueInterface("c")), `"c"`, "/metadata/finalizers/1", 3},
		"an index":                         {fieldpath.MakePathOrDie("spec", "containers", app, "args", 0), `"-v"`, "/spec/containers/1/args/0", 5},
		"as far as it leads":               {fieldpath.MakePathOrDie("spec", "containers", app, "resources", "limits"), "", "/spec/containers/1", 3},
		"nowhere":                          {fieldpath.MakePathOrDie("status"), "", "", 0},
		"not to an element that is gone":   {fieldpath.MakePathOrDie("spec", "containers", fieldpath.KeyByFields("name", "web"), "name"), "", "/spec/containers", 2},
		"not by a name through a list":     {fieldpath.MakePathOrDie("spec", "containers", "name"), "", "/spec/containers", 2},
		"not by a key through an object":   {fieldpath.MakePathOrDie("spec", app), "", "/spec", 1},
		"not by a value through an object": {fieldpath.MakePathOrDie("spec", value.NewValueInterface("c")), "", "/spec", 1},
	} {
		nearest, found := live.Nearest(c.path)
		got := []any{string(live.Find(c.path).Text()), nearest.PointerIn(nil), found}
		expect.Equal(t, sentence, []any{c.value, c.pointer, c.found}, got)
	}
}

func TestKeyOfIsThePathElementOfAnElement(t *testing.T) {
	list := jsontree.Valid([]byte(`[{"to":{"host":"a","port":1}},{"to":{"host":"b"}},{"to":{"host":"a","port":1.0}},{"to":{"host":["a"]}},"a"]`))
	for sentence, c := range map[string]struct {
		index int
		names []string
		want  string // with the number of elements that it means
	}{
		"a nested field":              {1, []string{"to.host"}, `[to.host="b"] 1`},
		"a value that two have":       {0, []string{"to.host"}, `[to.host="a"] 2`},
		"two fields":                  {0, []string{"to.host", "to.port"}, `[to.host="a",to.port=1] 2`},
		"a field that it lacks":       {1, []string{"to.port"}, ""},
		"a field that is a list":      {3, []string{"to.host"}, ""},
		"an element that is a scalar": {4, []string{"to.host"}, ""},
	} {
		got := ""
		if name, ok := list.Child(fieldpath.IndexElement(c.index)).KeyOf(c.names); ok {
			got = fmt.Sprintf("%s %d", name, list.Count(name))
		}
		expect.Equal(t, sentence, c.want, got)
	}
}

func TestParseErrorsDoNotQuoteTheText(t *testing.T) {
	for sentence, c := range map[string]struct{ text, want string }{
		"nothing":               {"", "invalid JSON: unexpected EOF"},
		"a truncated object":    {`{"password":"secret`, "invalid JSON: unexpected EOF"},
		"more after the value":  {`{} {"secret":1}`, "invalid JSON: there is more after the value, at byte 2"},
		"a duplicate name":      {`{"secret":1,"secret":2}`, "invalid JSON: duplicate object member name, after byte 12"},
		"invalid UTF-8":         {"\"secret\xff\"", "invalid JSON: invalid UTF-8, after byte 7"},
		"nesting beyond limits": {strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), "invalid JSON: exceeded max depth, after byte 10000"},
	} {
		_, err := jsontree.Parse([]byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: want %q, got %v", sentence, c.want, err)
		}
	}
}

func TestEqualBut(t *testing.T) {
	for sentence, c := range map[string]struct {
		a, b string
		want bool
	}{
		"equal":                              {`{"a":{"x":1,"y":2},"b":3}`, `{"a":{"x":1,"y":2},"b":3}`, true},
		"another value there":                {`{"a":{"x":1,"y":2},"b":3}`, `{"a":{"x":9,"y":2},"b":3}`, true},
		"missing in one":                     {`{"a":{"x":1,"y":2},"b":3}`, `{"a":{"y":2},"b":3}`, true},
		"another value beside it":            {`{"a":{"x":1,"y":2},"b":3}`, `{"a":{"x":1,"y":9},"b":3}`, false},
		"another value elsewhere":            {`{"a":{"x":1},"b":3}`, `{"a":{"x":2},"b":4}`, false},
		"another name beside it":             {`{"a":{"x":1,"y":2}}`, `{"a":{"x":1,"z":2}}`, false},
		"one more field":                     {`{"a":{"x":1}}`, `{"a":{"x":1,"y":2}}`, false},
		"an object in the place of a parent": {`{"a":{"x":1}}`, `{"a":[1]}`, false},
	} {
		a, b := jsontree.Valid([]byte(c.a)), jsontree.Valid([]byte(c.b))
		expect.Equal(t, sentence, c.want, jsontree.EqualBut(a, b, a.At("a", "x"), b.At("a", "x")))
	}
}

func TestAMeterStopsTheWork(t *testing.T) {
	root := jsontree.Valid([]byte(`{"a":{"b":1}}`))
	root.Limit(func(int) bool { return false })
	if got := root.At("a", "b"); got != nil {
		t.Errorf("without any steps left, found %s", got.Text())
	}
	root.Limit(nil)
	expect.Equal(t, "without a limit", "1", string(root.At("a", "b").Text()))
}
