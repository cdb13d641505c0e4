package guard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRemovingReplicasFromTheManifestKeepsThem(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		mode, before string
		args         []string
		scale        string
		after, want  string
	}{
		"client-side":                 {"enforce", "3", nil, "", "", "3"},
		"server-side":                 {"enforce", "3", serverSide, "", "", "3"},
		"of Argo CD":                  {"enforce", "3", []string{"--field-manager=argocd-controller"}, "", "", "3"},
		"of what a person has scaled": {"enforce", "3", nil, "5", "", "5"},
		"of what a person has scaled, server-side":        {"enforce", "3", serverSide, "5", "", "5"},
		"null is no letting go":                           {"enforce", "3", nil, "", "null", "1"},
		"a manifest that sets another number takes it":    {"enforce", "3", nil, "5", "4", "4"},
		"server-side, too":                                {"enforce", "3", serverSide, "5", "4", "4"},
		"where nothing opts in, it means 1 as ever":       {"", "3", nil, "", "", "1"},
		"a client that no list names is no applier":       {"enforce", "3", []string{"--field-manager=operator"}, "", "", "1"},
		"a server-side apply in an autoscaler's name":     {"enforce", "3", append(serverSide[:2:2], "--field-manager=keda"), "", "", "1"},
		"a manifest that never had it goes on as ever":    {"enforce", "", nil, "5", "", "5"},
		"a manifest that says it for the first time":      {"enforce", "", nil, "5", "2", "2"},
		"zero is kept like any number":                    {"enforce", "0", nil, "", "", "0"},
		"zero is kept like any number, server-side":       {"enforce", "0", serverSide, "", "", "0"},
		"letting go of what is 1 already changes nothing": {"enforce", "1", nil, "", "", "1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, c.mode)
			n.apply(n.manifest(c.before, "app:1"), c.args...)
			n.eventually("the guard is in effect", n.inEffect)
			if c.scale != "" {
				n.kubectl("scale", "deployment", "web", "--replicas="+c.scale)
			}
			if got := n.apply(n.manifest(c.after, "app:2"), c.args...); got != c.want {
				t.Errorf("replicas: got %s, want %s", got, c.want)
			}
		})
	}
}

// inEffect asks by an object of its own, so that the one under test is not touched.
func (n *namespace) inEffect() bool {
	n.Helper()
	probe := strings.ReplaceAll(in("enforce", n.manifest("3", "app:1")), "name: web\n", "name: probe\n")
	n.apply(probe)
	return n.apply(strings.Replace(probe, "  replicas: 3\n", "", 1), "--dry-run=server") == "3"
}

func TestHelm3(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.helm("install", "replicas=3")
	n.scaled()
	for _, values := range []string{"replicas=4,image=app:2", "replicas=3,image=app:3", "image=app:4"} {
		n.helm("upgrade", values)
		// Not even for a moment: the autoscaler has had nothing to repair, so there is nothing of its own to be seen.
		if got := n.kubectl("get", "deployment", "web", "-ojsonpath={.spec.replicas} {.spec.template.spec.containers[0].image}"); !strings.HasPrefix(got, "7 ") {
			t.Errorf("after an upgrade to %s: got %s, want 7 replicas", values, got)
		}
	}
}

// helm runs the real Helm 3 with a chart whose values are replicas and image.
func (n *namespace) helm(verb, values string) {
	n.Helper()
	binary := filepath.Join(cluster.root, "bin", "helm")
	if _, err := os.Stat(binary); err != nil {
		n.Fatalf("no Helm to test with, run make helm: %v", err)
	}
	chart := n.TempDir()
	template := strings.Replace(n.manifest("0", "{{ .Values.image }}"), "  replicas: 0\n", "{{ with .Values.replicas }}\n  replicas: {{ . }}\n{{ end }}", 1)
	if err := os.Mkdir(filepath.Join(chart, "templates"), 0o700); err != nil {
		n.Fatal(err)
	}
	for file, text := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n", "values.yaml": "image: app:1\n", "templates/web.yaml": template,
	} {
		if err := os.WriteFile(filepath.Join(chart, file), []byte(text), 0o600); err != nil {
			n.Fatal(err)
		}
	}
	env := []string{"HELM_CONFIG_HOME=" + chart, "HELM_CACHE_HOME=" + chart, "HELM_DATA_HOME=" + chart}
	n.command(binary, env, "", verb, "web", chart, "--namespace", n.name, "--kubeconfig", cluster.plane.Kubeconfig, "--set", values)
}
