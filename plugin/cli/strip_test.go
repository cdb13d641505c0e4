package cli_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/test/objects"
)

const stripLive = " --live testdata/strip/live.yaml"

func TestStripFiles(t *testing.T) {
	seen := transcript(t, "strip")
	if strings.Contains(seen, "not to be told") || strings.Contains(seen, "bm90IHRv") {
		t.Error("strip shows a Secret's live contents")
	}
}

// stripOut returns standard output of strip, with a text as standard input.
func stripOut(t *testing.T, input string, args ...string) (code int, out, errOut string) {
	t.Helper()
	t.Setenv("KUBECONFIG", "/no/such/file")
	var both [2]bytes.Buffer
	code, _ = run(t, func(env *cli.Environment) {
		env.IOStreams.In, env.IOStreams.Out, env.IOStreams.ErrOut = strings.NewReader(input), &both[0], &both[1]
	}, append([]string{"strip"}, args...)...)
	return code, both[0].String(), both[1].String()
}

// Manifests stay as they are, byte for byte, if others own none of their fields: on a terminal too.
func TestStripLeavesOtherManifestsUnchanged(t *testing.T) {
	for name, text := range map[string]string{
		"another object":     "# x\r\nkind:  ConfigMap\r\napiVersion: v1\r\nmetadata: {name: x}\r\ndata: {a: '\u202e \\u001b'}\r\n",
		"no final newline":   "apiVersion: v1\nkind: ConfigMap\nmetadata:\n    name:   x",
		"a byte order mark":  "\ufeffapiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
		"tabs":               "{\n\t\"apiVersion\": \"v1\",\t\"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"x\"}}\t\n",
		"no objects":         "# nothing\n---\n---\n\n",
		"nothing":            "",
		"no name":            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {generateName: web-}\nspec: {replicas: 3}\n",
		"no kind":            "spec: {replicas: 3}\n",
		"an unknown kind":    "apiVersion: shop.example.com/v1\nkind: Shop\nmetadata: {name: web, namespace: shop}\nspec: {replicas: 3}\n",
		"another namespace":  "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: stock}\nspec: {replicas: 3}\n",
		"the live value":     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: api, namespace: shop}\nspec: {replicas:   8 }\n",
		"an empty resources": "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n",
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := stripOut(t, text, "--live", "testdata/strip/live.yaml")
			if diff := cmp.Diff(text, out); diff != "" || code != cli.ExitOK || errOut != "" && !strings.Contains(errOut, "note: 1 of 1 objects are not in the files of --live") {
				t.Errorf("exit code %d, %s(-want +got):\n%s", code, errOut, diff)
			}
		})
	}
}

// kubectl reads several JSON values in a file, and lists whose items have the kind of the list.
func TestStripReadsWhatKubectlReads(t *testing.T) {
	const web = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"paused": true, "replicas": 3}}`
	const stripped = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"paused": true}}`
	const list = `{"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [{"metadata": {"name": "web", "namespace": "shop"}, "spec": {"paused": true, "replicas": 3}}]}`
	for name, c := range map[string]struct{ text, want string }{
		"JSON values in one line": {web + web, stripped + stripped},
		"JSON values in lines":    {"\n" + web + "\n\n" + web + "\n", "\n" + stripped + "\n\n" + stripped + "\n"},
		"a DeploymentList":        {list, strings.Replace(list, `, "replicas": 3`, "", 1)},
	} {
		code, out, errOut := stripOut(t, c.text, "--live", "testdata/strip/live.yaml")
		if diff := cmp.Diff(c.want, out); diff != "" || code != cli.ExitOK || !strings.Contains(errOut, "dropped .spec.replicas") {
			t.Errorf("%s: exit code %d, %s(-want +got):\n%s", name, code, errOut, diff)
		}
	}
}

func TestStripJoinsFiles(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": "\ufeffa: 1", "b.yaml": "\ufeff---\nb: 1\n", "c.json": "{\"c\": 1}\n", "d.yml": "%YAML 1.1\n---\nd: 1\n", "e.txt": "no manifest", "deep/f.yaml": "f: 1\n",
	} {
		objects.Write(t, text, folder, name)
	}
	const flat = "\ufeffa: 1\n---\nb: 1\n---\n{\"c\": 1}\n...\n%YAML 1.1\n---\nd: 1\n"
	for files, want := range map[string]string{
		"-f " + folder: flat, "-R -f " + folder: flat + "---\nf: 1\n", "-f " + filepath.Join(folder, "[b]*"): "\ufeff---\nb: 1\n",
	} {
		_, out, errOut := stripOut(t, "", words(files+stripLive)...)
		if diff := cmp.Diff(want, out); diff != "" || errOut != "" {
			t.Errorf("%s: %s (-want +got):\n%s", files, errOut, diff)
		}
	}
}

// After an error, nothing of the manifests is written: a pipeline must not apply a part of them.
func TestStripWritesNothingAfterAnError(t *testing.T) {
	const good = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {replicas: 3, paused: true}\n---\n"
	for name, c := range map[string]struct {
		text, says string
		args       []string
	}{
		"a malformed file": {good + "a: [", "standard input: line 6: ", []string{"--live", "testdata/strip/live.yaml"}},
		"an anchor": {
			strings.Replace(good, "replicas: 3, paused: true", "replicas: &a 3, minReadySeconds: *a", 1),
			"standard input: line 4: .spec.replicas is shared with other parts of the file through an anchor; write it without the anchor",
			[]string{"--live", "testdata/strip/live.yaml"},
		},
		"unknown owners": {good, "unknown which objects HorizontalPodAutoscalers target, because the files contain none", []string{"--live", "testdata/preview/new.yaml"}},
		"no cluster":     {good, "error: Get \"http://localhost:1/api", []string{"--server", "http://localhost:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECACHEDIR", t.TempDir())
			code, out, errOut := stripOut(t, c.text, c.args...)
			if code != cli.ExitError || out != "" || !strings.Contains(errOut, c.says) || strings.Count(errOut, "\n") != 1 {
				t.Errorf("exit code %d, output %q; want an error that says %q, got %s", code, out, c.says, errOut)
			}
		})
	}
	t.Run("unless errors are ignored", func(t *testing.T) {
		t.Setenv("KUBECACHEDIR", t.TempDir())
		code, out, errOut := stripOut(t, good, "--server", "http://localhost:1", "--ignore-errors")
		if code != cli.ExitOK || out != good || !strings.HasPrefix(errOut, "partial: standard input: deployment.apps/web: not stripped: Get ") {
			t.Errorf("exit code %d, %s\n%s", code, errOut, out)
		}
	})
}
