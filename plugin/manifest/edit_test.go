package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// edited returns a file after edits of its first object. An edit is a path or, for a replacement, PATH=JSON.
func edited(t *testing.T, text string, edits ...string) (string, error) {
	t.Helper()
	s, err := manifest.Parse(source.Text{Name: "f", Content: []byte(text)})
	expect.NoError(t, err)
	var all, removed []*manifest.Place
	for _, edit := range edits {
		name, value, isReplacement := strings.Cut(edit, " = ")
		at := s.Objects[0].Find(pathOf(name))
		if at == nil {
			t.Fatalf("no %s in\n%s", edit, text)
		}
		if isReplacement {
			at.Value = []byte(value)
			all = append(all, at)
		} else {
			removed = append(removed, at)
		}
	}
	after, err := s.Apply(append(all, manifest.Widen(removed)...))
	return string(after), err
}

func pathOf(text string) fieldpath.Path {
	path, _ := fieldpattern.MustParse(text)[0].Path()
	return path
}

func TestApply(t *testing.T) {
	const replicas = ".spec.replicas"
	for name, c := range map[string]struct {
		text  string
		edits string // separated by semicolons
		want  string
	}{
		"a line":                    {"spec:\n  replicas: 3\n  paused: true\n", replicas, "spec:\n  paused: true\n"},
		"a line with its comment":   {"spec:\n  # about it\n  replicas: 3 # enough\n  # more\n  paused: true # why\n", replicas, "spec:\n  # about it\n  # more\n  paused: true # why\n"},
		"the last line":             {"spec:\n  paused: true\n  replicas: 3", replicas, "spec:\n  paused: true\n"},
		"the parent":                {"kind: A\nspec:\n  replicas: 3\nstatus: {}\n", replicas, "kind: A\nstatus: {}\n"},
		"CRLF":                      {"spec:\r\n  replicas: 3\r\n  paused: true\r\n", replicas, "spec:\r\n  paused: true\r\n"},
		"a byte order mark":         {"\ufeffspec: {replicas: 3, paused: true}\n", replicas, "\ufeffspec: {paused: true}\n"},
		"a byte order mark, first":  {"\ufeffspec:\n  replicas: 3\nkind: A\n", replicas, "\ufeffkind: A\n"},
		"tabs":                      {"spec:\n  replicas:\t3\t# x\n  paused:\ttrue\n", replicas, "spec:\n  paused:\ttrue\n"},
		"a document marker":         {"# head\n--- # a\nspec:\n  replicas: 3\n  paused: true\n...\n---\nkind: B\n", replicas, "# head\n--- # a\nspec:\n  paused: true\n...\n---\nkind: B\n"},
		"a quoted key":              {"spec:\n  \"replicas\": 3\n  paused: true\n", replicas, "spec:\n  paused: true\n"},
		"an alias as the value":     {"x: &x 3\nspec:\n  replicas: *x\n  paused: true\n", replicas, "x: &x 3\nspec:\n  paused: true\n"},
		"null":                      {"spec:\n  replicas:\n  paused: true\n", replicas, "spec:\n  paused: true\n"},
		"a block":                   {"spec:\n  paused: true\n  strategy:\n    type: Recreate\n    # why\n\n    rollingUpdate: null\n\n# the rest\n  replicas: 1\n", ".spec.strategy", "spec:\n  paused: true\n\n# the rest\n  replicas: 1\n"},
		"a block at the end":        {"---\nspec:\n  paused: true\n  strategy:\n    type: Recreate\n\n---\nkind: B\n", ".spec.strategy", "---\nspec:\n  paused: true\n\n---\nkind: B\n"},
		"a list not indented":       {"spec:\n  l:\n  - name: a\n  - name: b\n  replicas: 1\n", ".spec.l", "spec:\n  replicas: 1\n"},
		"an item of a list":         {"kind: List\nitems:\n- kind: A\n  spec: {replicas: 3, paused: true}\n", replicas, "kind: List\nitems:\n- kind: A\n  spec: {paused: true}\n"},
		"a plain scalar over lines": {"spec:\n  note: all of\n      us\n  other: x", ".spec.note", "spec:\n  other: x"},
		"a scalar in double quotes": {"spec:\n  note: \"all \\\"of\n      us\" # team\n  other: x", ".spec.note", "spec:\n  other: x"},
		"a scalar in single quotes": {"spec:\n  note: 'all ''of\n\n      us'\n  other: x", ".spec.note", "spec:\n  other: x"},
		"a scalar below its key":    {"spec:\n  note:\n      # whose\n      !!str us\n  other: x", ".spec.note", "spec:\n  other: x"},
		"a literal block":           {"spec:\n  note: |\n    # no comment\n    a\n\n  paused: true\n", ".spec.note", "spec:\n\n  paused: true\n"},
		"flow, first":               {"spec: {replicas: 3, paused: true}\n", replicas, "spec: {paused: true}\n"},
		"flow, last":                {"spec: {paused: true, replicas: 3 } # x\n", replicas, "spec: {paused: true } # x\n"},
		"flow, between":             {"spec: {a: 1, replicas: 3, b: [2]}\n", replicas, "spec: {a: 1, b: [2]}\n"},
		"flow, after an alias":      {"x: &x 3\nspec: {a: *x , replicas: 3}\n", replicas, "x: &x 3\nspec: {a: *x}\n"},
		"flow, after ü":             {"spec: {a: ü, replicas: 3}\n", replicas, "spec: {a: ü}\n"},
		"flow, trailing comma":      {"spec: {a: 1, replicas: 3,}\n", replicas, "spec: {a: 1,}\n"},
		"flow, the parent":          {"{kind: A, spec: {replicas: 3}}\n", replicas, "{kind: A}\n"},
		"flow over lines":           {"spec: {\n  replicas: 3, # x\n  paused: true\n}\n", replicas, "spec: {\n  paused: true\n}\n"},
		"flow with comments":        {"spec: {\n  # a\n  a: 1, # 1\n  # b\n  b: 2, # 2\n  # c\n  c: 3 # 3\n  # end\n}\n", ".spec.b", "spec: {\n  # a\n  a: 1, # 1\n  # b\n  # c\n  c: 3 # 3\n  # end\n}\n"},
		"flow with comments, last":  {"spec: {\n  a: 1, # 1\n  # c\n  c: 3 # 3\n  # end\n}\n", ".spec.c", "spec: {\n  a: 1, # 1\n  # c\n  # end\n}\n"},
		"flow within a block":       {"spec:\n  r: {cpu: 1,\n    memory: \"}\", # }\n    }\n  other: x\n", ".spec.r", "spec:\n  other: x\n"},
		"JSON":                      {"{\n  \"spec\": {\n    \"paused\": true,\n    \"replicas\": 3\n  }\n}\n", replicas, "{\n  \"spec\": {\n    \"paused\": true\n  }\n}\n"},
		"JSON with tabs":            {"{\n\t\"spec\": {\n\t\t\"replicas\": 3,\n\t\t\"paused\": true\n\t}\n}\n", replicas, "{\n\t\"spec\": {\n\t\t\"paused\": true\n\t}\n}\n"},
		"all fields of an element":  {"l:\n- name: a\n  r: {x: 1}\n- name: b\n", `.l[name="a"].r`, "l:\n- name: a\n- name: b\n"},
		"after a dash":              {"l:\n- r: 1\n  name: a\n- name: b\n", `.l[name="a"].r`, "l:\n- name: a\n- name: b\n"},
		"after a dash, a comment":   {"l:\n- r: 1\n  # c\n  name: a\n- name: b\n", `.l[name="a"].r`, "l:\n-\n  # c\n  name: a\n- name: b\n"},
		"after a dash, two":         {"l:\n  - r: 1\n    s:\n    - 2\n    name: a\n    t: 3\n", `.l[name="a"].r;.l[name="a"].s`, "l:\n  - name: a\n    t: 3\n"},
		"after a dash alone":        {"l:\n- name: b\n- # the first\n  name: a\n  command: [a,\n   b]\n", `.l[name="a"]`, "l:\n- name: b\n"},
		"an element":                {"l:\n- a\n- b # x\n- c\n", `.l[="b"]`, "l:\n- a\n- c\n"},
		"an element in flow":        {"l: [a, b]\n", `.l[="b"]`, "l: [a]\n"},
		"all elements":              {"k: 1\nl: [a, b]\n", `.l[="b"];.l[="a"]`, "k: 1\n"},
		"neighbors":                 {"spec:\n  a: 1\n  # c\n  b: 2\n  c: 3\n", ".spec.a;.spec.b", "spec:\n  # c\n  c: 3\n"},
		"neighbors in flow":         {"spec: {a: 1, b: 2, c: 3}\n", ".spec.b;.spec.c", "spec: {a: 1}\n"},
		"places in several parents": {"spec: {a: 1, b: {c: 2, d: 3}}\nx:\n  y: 1\n  z: 2\n", ".spec.b.c;.x.y", "spec: {a: 1, b: {d: 3}}\nx:\n  z: 2\n"},
		"a value":                   {"spec:\n  replicas: 3 # x\n  paused: true\n", replicas + " = 7", "spec:\n  replicas: 7 # x\n  paused: true\n"},
		"a value in flow":           {"spec: {replicas: 3, paused: true}\n", replicas + " = 7", "spec: {replicas: 7, paused: true}\n"},
		"a value for null":          {"spec:\n  replicas:\n  paused: true\n", replicas + " = 7", "spec:\n  replicas: 7\n  paused: true\n"},
		"a value for a block":       {"spec:\n  args:\n  - a\n  - b\n  paused: true\n", `.spec.args = ["c","d"]`, "spec:\n  args: [\"c\",\"d\"]\n  paused: true\n"},
		"a value for text":          {"spec:\n  note: |\n    a\n    b\n  paused: true\n", `.spec.note = "c\nd"`, "spec:\n  note: \"c\\nd\"\n  paused: true\n"},
		"a value and a removal":     {"spec: {a: 1, replicas: 3, b: 2}\n", replicas + " = 7;.spec.b", "spec: {a: 1, replicas: 7}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := edited(t, c.text, strings.Split(c.edits, ";")...)
			expect.NoError(t, err)
			expect.Equal(t, "file", c.want, got)
		})
	}
}

func TestMergeKeysAreVisitedOnce(t *testing.T) {
	var nested strings.Builder
	nested.WriteString("x0: &x0 {a: 1}\n")
	for i := range 60 { // x0 is reachable in 2^60 ways
		fmt.Fprintf(&nested, "x%d: &x%d {<<: [*x%d, *x%d]}\n", i+1, i+1, i, i)
	}
	for _, text := range []string{
		nested.String() + "spec: {<<: *x60, paused: true}\n",
		"spec: &s {<<: *s}\n", "spec: &s\n  a: [*s]\n", "&x\n<<: [*x]\n", "items: &i [*i]\nkind: List\n", // circular
	} {
		s, err := manifest.Parse(source.Text{Name: "f", Content: []byte(text)})
		expect.NoError(t, err)
		expect.Equal(t, "replicas are found", false, s.Objects[0].Find(pathOf(".spec.replicas")) != nil)
	}
}

func TestApplyWithoutEditsReturnsTheFile(t *testing.T) {
	const text = "\ufeff# head\r\nspec:   {a:   1   ,}\t# x\r\n---\n"
	got, err := edited(t, text)
	expect.NoError(t, err)
	expect.Equal(t, "file", text, got)
}

func TestApplyFailsRatherThanChangeOtherParts(t *testing.T) {
	for name, c := range map[string]struct{ text, edits, says string }{
		"the anchor of an alias":        {"spec:\n  a: &a 1\n  b: *a\n", ".spec.a", "line 2: .spec.a is shared with other parts of the file through an anchor"},
		"a field of an alias":           {"x: &s {a: 1, b: 2}\nspec: *s\n", ".spec.a", "line 1: .spec.a is shared with other parts"},
		"a field of a merge key":        {"x: &x {a: 2, c: 1}\nspec:\n  <<: *x\n  b: 2\n", ".spec.a", "line 1: .spec.a is shared with other parts"},
		"a field set twice":             {"spec:\n  a: 1\n  a: 1\n  b: 2\n", ".spec.a", "line 3: the field is set twice"},
		"a parent set twice":            {"spec:\n  a: 1\n  b: 2\nspec:\n  a: 1\n", ".spec.a", "line 4: the field is set twice"},
		"a merge key that also sets it": {"x: &x {a: 2}\nspec:\n  <<: *x\n  a: 1\n  b: 2\n", ".spec.a", "line 4: the field is set twice in the same object, or also through an anchor"},
		"a complex key":                 {"spec:\n  ? a\n  : 1\n  b: 2\n", ".spec.a", "one field on a line"},
		"an empty element":              {"l:\n- - a\n- - b\n", ".l[0][0]", "one field on a line"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := edited(t, c.text, c.edits)
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "f: ") {
				t.Errorf("want an error that says %q, got %v and\n%s", c.says, err, got)
			}
		})
	}
}
