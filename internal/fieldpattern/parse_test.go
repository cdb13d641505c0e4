package fieldpattern_test

import (
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
)

func TestAParsedPatternMatchesFields(t *testing.T) {
	resources := fieldpath.MakePathOrDie("spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "app"), "resources")
	port := fieldpath.MakePathOrDie("spec", "ports", fieldpath.KeyByFields("port", 80, "protocol", "TCP"), "nodePort")
	for name, c := range map[string]struct {
		pattern string
		path    fieldpath.Path
		want    bool
	}{
		"a field":                     {".spec.replicas", fieldpath.MakePathOrDie("spec", "replicas"), true},
		"another field":               {".spec.replicas", fieldpath.MakePathOrDie("spec", "paused"), false},
		"a nested field":              {".spec", fieldpath.MakePathOrDie("spec", "replicas"), true},
		"a parent of the field":       {".spec.replicas", fieldpath.MakePathOrDie("spec"), false},
		"an element by its key":       {`.spec.template.spec.containers[name="app"].resources`, resources, true},
		"an element by another key":   {`.spec.template.spec.containers[name="web"].resources`, resources, false},
		"any element":                 {`.spec.template.spec.containers[*].resources`, resources, true},
		"any element, with its key":   {`.spec.template.spec.containers[name=*].resources`, resources, true},
		"with a key of two":           {`.spec.ports[port=*].nodePort`, port, true},
		"a quoted star is a name":     {`.spec.template.spec.containers[name="*"].resources`, resources, false},
		"which an element can have":   {`.spec.containers[name="*"]`, fieldpath.MakePathOrDie("spec", "containers", fieldpath.KeyByFields("name", "*")), true},
		"a quoted star is a field":    {`.data["*"]`, fieldpath.MakePathOrDie("data", "key"), false},
		"any field":                   {`.spec.*.spec.containers[*].resources`, resources, true},
		"an element by several keys":  {`.spec.ports[port=80,protocol="TCP"].nodePort`, port, true},
		"keys in another order":       {`.spec.ports[protocol="TCP",port=80].nodePort`, port, true},
		"a member of a set":           {`.metadata.finalizers[="a/b"]`, fieldpath.MakePathOrDie("metadata", "finalizers", value.NewValueInterface("a/b")), true},
		"an index":                    {`.spec.args[1]`, fieldpath.MakePathOrDie("spec", "args", 1), true},
		"a name with a dot in quotes": {`.metadata.labels["a.b/c"]`, fieldpath.MakePathOrDie("metadata", "labels", "a.b/c"), true},
		"a label as it is printed":    {`.metadata.labels.a.b/c`, fieldpath.MakePathOrDie("metadata", "labels", "a.b/c"), true},
		"an annotation of a template": {`.spec.template.metadata.annotations.a.b/c`, fieldpath.MakePathOrDie("spec", "template", "metadata", "annotations", "a.b/c"), true},
		"any label":                   {`.metadata.labels.*`, fieldpath.MakePathOrDie("metadata", "labels", "a.b/c"), true},
		"space around it is not read": {" .spec.replicas ", fieldpath.MakePathOrDie("spec", "replicas"), true},
	} {
		t.Run(name, func(t *testing.T) {
			pattern, err := fieldpattern.Parse(c.pattern)
			expect.NoError(t, err)
			expect.Equal(t, c.pattern+" covers "+c.path.String(), c.want, pattern.Matches(c.path))
		})
	}
}

func TestParsePatternErrors(t *testing.T) {
	for name, c := range map[string]struct{ pattern, want string }{
		"nothing":                {"", "path is empty"},
		"no dot":                 {"spec.replicas", "a dot is missing"},
		"two dots":               {".spec..replicas", `at "..replicas"`},
		"a dot at the end":       {".spec.", "a field name is missing"},
		"an open bracket":        {".spec.c[", "expected a quoted string"},
		"an unclosed bracket":    {`.spec.c[name="app"`, "closing bracket is missing"},
		"a key without quotes":   {`.spec.c[name=app]`, "a quoted string"},
		"text behind a bracket":  {`.spec.c[name="app"]x`, "a dot is missing"},
		"nothing in brackets":    {`.spec.c[]`, "expected a quoted string"},
		"an object in brackets":  {`.spec.c[{"a":1}]`, "expected a quoted string"},
		"a boolean in brackets":  {`.spec.c[true]`, "brackets must contain"},
		"two names in brackets":  {`.spec.c["a","b"]`, "closing bracket is missing"},
		"a name behind a key":    {`.spec.c[name="a","b"]`, "either keys"},
		"a value behind a key":   {`.spec.c[name="a",="b"]`, "either keys"},
		"a value and a wildcard": {`.spec.c[name="a",port=*]`, "all be *, or none"},
		"a wildcard and a value": {`.spec.c[name=*,port=1]`, "all be *, or none"},
		"a wildcard as a value":  {`.spec.c[=*]`, "expected a quoted string"},
		"text after a wildcard":  {`.spec.c[name=*a]`, "closing bracket is missing"},
		"a dot before a bracket": {`.spec.[0]`, "a field name is missing"},
		"a key twice, any value": {`.spec.c[name=*,name=*]`, "name is there twice"},
		"a key twice":            {`.spec.c[name="a",name="b"]`, "name is there twice"},
		"a key twice, the same":  {`.spec.c[port=1,name="a",port=1]`, "port is there twice"},
		"an empty part of a key": {`.spec.c[to.=*]`, "a key is not the name"},
		"a key that is a dot":    {`.spec.c[.=*]`, "a key is not the name"},
		"a space in a key":       {`.spec.c[name =*]`, "a key is not the name"},
		"a negative index":       {`.spec.c[-1]`, "brackets must contain"},
		"two paths":              {`.spec.a, .spec.b`, "write another path on its own"},
		"two paths to labels":    {`.metadata.labels.a/b,.spec.b`, "write another path on its own"},
		"a key with a slash":     {`.spec.selector.app.kubernetes.io/name`, `in brackets and quotes`},
	} {
		_, err := fieldpattern.Parse(c.pattern)
		expect.Error(t, name+", "+c.pattern, c.want, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{".spec.replicas", `.a[b="c",d=1].*`, `.a[="x"][0]["y"][*]`, ".", "[", `.a[b=`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pattern, err := fieldpattern.Parse(text)
		if err == nil && len(pattern) == 0 {
			t.Errorf("%q parses to nothing", text)
		}
	})
}
