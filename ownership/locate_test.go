package ownership_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

func TestLocate(t *testing.T) {
	live := object(t, `{"metadata":{"finalizers":["a/b","c"],"labels":{"x~y/z":"1"}},"spec":{"containers":[{"name":"side"},`+
		`{"name":"app","ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}],"args":["-v","-x"]}]}}`)
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
		"a member of a set":                {fieldpath.MakePathOrDie("metadata", "finalizers", value.NewValueInterface("c")), `"c"`, "/metadata/finalizers/1", 3},
		"an index":                         {fieldpath.MakePathOrDie("spec", "containers", app, "args", 0), `"-v"`, "/spec/containers/1/args/0", 5},
		"as far as it leads":               {fieldpath.MakePathOrDie("spec", "containers", app, "resources", "limits"), "", "/spec/containers/1", 3},
		"nowhere":                          {fieldpath.MakePathOrDie("status"), "", "", 0},
		"not to an element that is gone":   {fieldpath.MakePathOrDie("spec", "containers", fieldpath.KeyByFields("name", "web"), "name"), "", "/spec/containers", 2},
		"not by a name through a list":     {fieldpath.MakePathOrDie("spec", "containers", "name"), "", "/spec/containers", 2},
		"not by a key through an object":   {fieldpath.MakePathOrDie("spec", app), "", "/spec", 1},
		"not by a value through an object": {fieldpath.MakePathOrDie("spec", value.NewValueInterface("c")), "", "/spec", 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			place := live.Locate(c.path)
			if diff := cmp.Diff([]any{c.value, c.pointer, c.found}, []any{string(place.Value), place.Pointer, place.Found}); diff != "" {
				t.Errorf("place (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCut(t *testing.T) {
	const text = `{"spec":{"containers":[{"name":"a","x":1},{"name":"b","x":2}],"list":["p","q"]}}`
	b := fieldpath.KeyByFields("name", "b")
	for sentence, c := range map[string]struct {
		path fieldpath.Path
		want string
	}{
		"a field of an element":  {fieldpath.MakePathOrDie("spec", "containers", b, "x"), `{"spec":{"containers":[{"name":"a","x":1},{"name":"b"}],"list":["p","q"]}}`},
		"an element":             {fieldpath.MakePathOrDie("spec", "containers", b), `{"spec":{"containers":[{"name":"a","x":1}],"list":["p","q"]}}`},
		"a member of a set":      {fieldpath.MakePathOrDie("spec", "list", value.NewValueInterface("p")), `{"spec":{"containers":[{"name":"a","x":1},{"name":"b","x":2}],"list":["q"]}}`},
		"a whole list":           {fieldpath.MakePathOrDie("spec", "list"), `{"spec":{"containers":[{"name":"a","x":1},{"name":"b","x":2}]}}`},
		"nothing that is gone":   {fieldpath.MakePathOrDie("spec", "containers", fieldpath.KeyByFields("name", "c")), text},
		"nothing without a path": {nil, text},
		"nothing in what is not": {fieldpath.MakePathOrDie("status", "x"), text},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := ownership.Cut([]byte(text), c.path)
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if err := rawjson.Check(got); err != nil {
				t.Error(err)
			}
		})
	}
}
