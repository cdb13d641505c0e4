package release_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/plugin/source"
)

const head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n" // three lines

func TestLines(t *testing.T) {
	live := object{
		body: `{"spec":{"replicas":3,"note":"all of us","strategy":{"type":"Recreate"},"template":{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1"}}}]}}}}`,
		entries: []string{entry("kubectl/Apply", `"f:spec":{"f:replicas":{},"f:note":{},"f:strategy":{"f:type":{}},"f:template":{"f:spec":{"f:containers":{`+
			`"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:resources":{"f:limits":{"f:cpu":{}}}}}}}}`)},
	}
	const limits = `.spec.template.spec.containers[name="a"].resources.limits`
	for name, c := range map[string]struct {
		fields, text string
		want         []string
	}{
		"a line": {".spec.replicas", head + "spec:\n  replicas: 3 # enough\n  paused: true\n", []string{`f:5: delete "replicas: 3 # enough"`}},
		"a block": {
			".spec.strategy", head + "spec:\n  paused: true\n  strategy:\n    type: Recreate\n    # why\n\n    rollingUpdate: null\n\n# the rest\n  replicas: 1\n",
			[]string{`f:6-10: delete "strategy:"`},
		},
		"a block that ends the document": {
			".spec.strategy", "---\n" + head + "spec:\n  paused: true\n  strategy:\n    type: Recreate\n\n---\nkind: Other\n", []string{`f:7-8: delete "strategy:"`},
		},
		"a list at the indentation of its key": {
			".spec.template", head + "spec:\n  paused: true\n  template:\n    spec:\n      containers:\n      - name: a\n      - name: b\n  replicas: 1\n",
			[]string{`f:6-10: delete "template:"`},
		},
		"a list element by its key, with an empty parent": {
			limits, head + "spec:\n  template:\n    spec:\n      containers:\n      - name: b\n      - name: a\n        resources:\n          limits: {cpu: 1}\n",
			[]string{`f:10-11: delete "resources:"`},
		},
		"a parent with other content stays": {
			limits, head + "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        resources:\n          limits: {cpu: 1}\n          requests: {}\n",
			[]string{`f:10: delete "limits: {cpu: 1}"`},
		},
		"two fields that together empty their parent": {
			".spec.replicas .spec.strategy", head + "spec:\n  replicas: 3\n  strategy:\n    type: x\n", []string{`f:4-7: delete "spec:"`},
		},
		"flow style": {".spec.replicas", head + "spec: {replicas: 3, paused: true}\n", []string{`f:4: delete "replicas: 3"`}},
		"JSON": {
			".spec.replicas", "{\"apiVersion\": \"apps/v1\", \"kind\": \"Deployment\",\n \"metadata\": {\"name\": \"web\"},\n \"spec\": {\n  \"paused\": true,\n  \"replicas\": 3}}",
			[]string{`f:5: delete "\"replicas\": 3"`},
		},
		"the document among several": {
			".spec.replicas", "kind: Other\n---\n" + strings.Replace(head, "web", "api", 1) + "spec: {replicas: 1}\n---\n" + head + "spec:\n  paused: true\n  replicas: 3\n",
			[]string{`f:13: delete "replicas: 3"`},
		},
		"an item of a list": {
			".spec.replicas", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: web}\n  spec: {replicas: 3, paused: true}\n",
			[]string{`f:7: delete "replicas: 3"`},
		},
		"another version, with a namespace": {
			".spec.replicas", "apiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: web, namespace: \"\"}\nspec:\n  paused: true\n  replicas: 3\n",
			[]string{`f:6: delete "replicas: 3"`},
		},
		"a value from an anchor": {
			".spec.replicas", "x: &common\n  replicas: 3\n" + head + "spec:\n  <<: *common\n  paused: true\n",
			[]string{`f:2: delete "replicas: 3"; other parts of the file use it through an anchor`},
		},
		"not set": {".spec.replicas", head + "spec: {paused: true}\n", []string{"f: does not set .spec.replicas; nothing to delete"}},
		"a plain scalar over two lines": {
			".spec.note", head + "spec:\n  note: all of\n      us\n  other: x",
			[]string{`f:5-6: delete "note: all of"`},
		},
		"a quoted scalar over two lines": {
			".spec.note", head + "spec:\n  note: \"all \\\"of\n      us\" # team\n  other: x",
			[]string{`f:5-6: delete "note: \"all \\\"of"`},
		},
		"a scalar in single quotes over three lines": {
			".spec.note", head + "spec:\n  note: 'all ''of\n\n      us'\n  other: x",
			[]string{`f:5-7: delete "note: 'all ''of"`},
		},
		"a scalar below its key": {
			".spec.note", head + "spec:\n  note:\n      # whose\n      !!str us\n  other: x",
			[]string{`f:5-7: delete "note:"`},
		},
		"a flow mapping over several lines": {
			limits, head + "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        image: x\n        resources:\n          limits: {cpu: 1,\n            memory: \"}\", # }\n          }\n          requests: {}\n",
			[]string{`f:11-13: delete "limits: {cpu: 1,"`},
		},
		"an element whose dash stands alone": {
			`.spec.template.spec.containers[name="a"]`, head + "spec:\n  template:\n    spec:\n      containers:\n      - name: b\n      - # the first\n        name: a\n        command: [a,\n         b]\n",
			[]string{`f:9-12: delete "- # the first"`},
		},
		"an anchor with another alias": {
			".spec.replicas", head + "spec:\n  replicas: &three 3\n  minReadySeconds: *three\n",
			[]string{`f:5: delete "replicas: &three 3"; other parts of the file use it through an anchor`},
		},
		"a field of an anchor with another alias": {
			".spec.replicas", head + "spec: &spec\n  paused: true\n  replicas: 3\nother: *spec\n",
			[]string{`f:6: delete "replicas: 3"; other parts of the file use it through an anchor`},
		},
		"several JSON values": {
			".spec.replicas", `{"kind": "Other"}{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"a": 1, "replicas": 3}}`,
			[]string{`f:1: delete "\"replicas\": 3"`},
		},
		"null": {".spec.replicas", head + "spec:\n  paused: true\n  replicas:\n", []string{`f:6: delete "replicas:"`}},
	} {
		t.Run(name, func(t *testing.T) {
			p, refusals := planOf(t, live.subject(t), strings.Fields(c.fields)...)
			if refusals != nil {
				t.Fatal(refusals)
			}
			got, err := p.Lines([]source.Text{{Name: "f", Content: []byte(c.text)}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestManifestWithoutTheObjectIsAnError(t *testing.T) {
	live := object{body: `{"spec":{"replicas":3}}`, annotated: `{"spec":{"replicas":3}}`, entries: []string{entry(client, annotation)}}
	p, _ := planOf(t, live.subject(t), ".spec.replicas")
	for text, says := range map[string]string{
		"":            "not in the files, which contain no objects",
		"a: b":        "not in the files",
		"- 1":         "not in the files",
		"x: [":        "f: line 1: ",
		"kind: Web\n": "which contain web/",
		// Circular anchors.
		"metadata: &m {<<: *m}\n": "not in the files", "metadata: &m\n  a: [*m]\n": "not in the files", "&x\n<<: [*x]\n": "not in the files",
		"items: &i [*i]\nkind: List\n":                                               "not in the files",
		strings.Replace(head, "apps/v1", "other/v1", 1):                              "which contain deployment/web",
		strings.Replace(head, "{name: web}", "{name: web, namespace: elsewhere}", 1): "which contain deployment/web",
	} {
		lines, err := p.Lines([]source.Text{{Name: "f", Content: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: want an error that says %q, got %v and %v", text, says, lines, err)
		}
	}
}

func TestNestedMergeKeysAreVisitedOnce(t *testing.T) {
	live := object{body: `{"spec":{"replicas":3}}`, annotated: `{"spec":{"replicas":3}}`, entries: []string{entry(client, annotation)}}
	p, _ := planOf(t, live.subject(t), ".spec.replicas")
	var text strings.Builder
	text.WriteString("x0: &x0 {a: 1}\n")
	for i := range 60 { // x0 is reachable in 2^60 ways
		fmt.Fprintf(&text, "x%d: &x%d {<<: [*x%d, *x%d]}\n", i+1, i+1, i, i)
	}
	text.WriteString(head + "spec: {<<: *x60, paused: true}\n")
	lines, err := p.Lines([]source.Text{{Name: "f", Content: []byte(text.String())}})
	if diff := cmp.Diff([]string{"f: does not set .spec.replicas; nothing to delete"}, lines); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
