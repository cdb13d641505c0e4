package guard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRemovingReplicasFromTheManifestKeepsThem(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	for sentence, c := range map[string]struct {
		mode, before string
		args         []string
		scale        string
		after, want  string
	}{
		"client-side":                                      {"enforce", "3", nil, "", "", "3"},
		"server-side":                                      {"enforce", "3", serverSide, "", "", "3"},
		"Argo CD":                                          {"enforce", "3", []string{"--field-manager=argocd-controller"}, "", "", "3"},
		"after kubectl scale":                              {"enforce", "3", nil, "5", "", "5"},
		"after kubectl scale, server-side":                 {"enforce", "3", serverSide, "5", "", "5"},
		"null is not a removal":                            {"enforce", "3", nil, "", "null", "1"},
		"the manifest sets another number":                 {"enforce", "3", nil, "5", "4", "4"},
		"the manifest sets another number, server-side":    {"enforce", "3", serverSide, "5", "4", "4"},
		"without the mode annotation":                      {"", "3", nil, "", "", "1"},
		"a field manager that no list has":                 {"enforce", "3", []string{"--field-manager=ci"}, "", "", "3"},
		"a server-side apply with an autoscaler's manager": {"enforce", "3", append(serverSide[:2:2], "--field-manager=keda"), "", "", "1"},
		"the manifest never set replicas":                  {"enforce", "", nil, "5", "", "5"},
		"the manifest sets replicas for the first time":    {"enforce", "", nil, "5", "2", "2"},
		"zero is kept":                                     {"enforce", "0", nil, "", "", "0"},
		"zero is kept, server-side":                        {"enforce", "0", serverSide, "", "", "0"},
		"replicas are already 1":                           {"enforce", "1", nil, "", "", "1"},
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

// inEffect reports whether the guard is in effect. It uses a separate object, so that the object under test does not change.
func (n *namespace) inEffect() bool {
	n.Helper()
	probe := strings.ReplaceAll(in("enforce", n.manifest("3", "app:1")), "name: web\n", "name: probe\n")
	n.apply(probe)
	return n.apply(strings.Replace(probe, "  replicas: 3\n", "", 1), "--dry-run=server") == "3"
}

func TestHelm3(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.helm("install", "replicas=3")
	n.scaled()
	for _, values := range []string{"replicas=4,image=app:2", "replicas=3,image=app:3", "image=app:4"} {
		n.helm("upgrade", values)
		// The replicas never changed, so the autoscaler had nothing to restore.
		if got := n.kubectl("get", "deployment", "web", "-ojsonpath={.spec.replicas} {.spec.template.spec.containers[0].image}"); !strings.HasPrefix(got, "7 ") {
			t.Errorf("after an upgrade to %s: got %s, want 7 replicas", values, got)
		}
	}
}

// helm runs Helm 3 with a chart that has the values replicas and image.
func (n *namespace) helm(verb, values string) {
	n.Helper()
	binary := filepath.Join(cluster.root, "bin", "helm")
	if _, err := os.Stat(binary); err != nil {
		n.Fatalf("finding Helm: %v; run make bin/helm", err)
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
	n.command(binary, env, "", verb, "web", chart, "--namespace", n.name, "--kubeconfig", cluster.controlPlane.Kubeconfig, "--set", values)
}
