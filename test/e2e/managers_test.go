package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// helm runs Helm 3 with a chart that has the values replicas and image.
func (n *namespace) helm(verb string, values ...string) result {
	n.Helper()
	template := strings.NewReplacer("VALUE_IMAGE", "{{ .Values.image }}", "  replicas: 0\n", "{{ with .Values.replicas }}\n  replicas: {{ . }}\n{{ end }}").
		Replace(deployment("0", "VALUE_IMAGE"))
	return n.release(verb, template, "--set", strings.Join(values, ","))
}

// release runs Helm 3 with a chart of one template.
func (n *namespace) release(verb, template string, args ...string) result {
	n.Helper()
	chart := n.TempDir()
	for file, text := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n", "values.yaml": "image: app:1\n", "templates/web.yaml": template,
	} {
		path := filepath.Join(chart, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			n.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			n.Fatal(err)
		}
	}
	args = append([]string{verb, "web", chart, "--namespace", n.name, "--kubeconfig", cluster.Plane.Kubeconfig}, args...)
	cmd := exec.CommandContext(n.Context(), helmBinary(n.T), args...)
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+chart, "HELM_CACHE_HOME="+chart, "HELM_DATA_HOME="+chart)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	n.Logf("helm %v: %v\n%s%s", args, err, out, stderr.String())
	return n.must(result{stdout: string(out), stderr: stderr.String(), err: err})
}

// helmBinary returns the path of Helm, which make bin/helm builds.
func helmBinary(t *testing.T) string {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "bin", "helm")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("finding Helm: %v; run make bin/helm", err)
	}
	return path
}

func TestHelm3(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.helm("install", "replicas=3")
	n.wantManagers("helm/Update")
	n.autoscale("7")
	n.wantManagers("kube-controller-manager/Update/scale")

	r := n.helm("upgrade", "replicas=3", "image=app:2")
	if !strings.Contains(r.stderr, "kept .spec.replicas=7, owned by HorizontalPodAutoscaler/web") {
		t.Errorf("helm does not show the warning: %s", r.stderr)
	}
	n.wantReplicas(7)
	n.wantManagers("kube-controller-manager/Update/scale")
	n.helm("upgrade", "image=app:3") // without replicas
	n.wantReplicas(7)
	n.wantManagers("kube-controller-manager/Update/scale")
	n.unchangedBy("an unchanged upgrade", func() { n.helm("upgrade", "image=app:3") })

	n.kubectl("delete", "hpa", "web")
	n.known(false)
	n.helm("upgrade", "replicas=4", "image=app:3")
	n.wantReplicas(4)
	n.wantManagers("helm/Update")
}

func TestControllerRuleForReplicas(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	ruled := func(replicas string) string {
		return strings.Replace(deployment(replicas, "app:1"), "  name: web\n",
			"  name: web\n  annotations: {ownership-handoff.io/controller-fields: \".spec.replicas, .spec.paused\"}\n", 1)
	}
	n.apply(ruled("3"))
	n.kubectl("patch", "deployment", "web", "--field-manager=my-operator", "-p", `{"spec":{"replicas":8}}`)
	r := n.apply(ruled("3"))
	n.wantWarnings(r, "kept .spec.replicas=8, owned by my-operator; remove it from the manifest")
	n.wantReplicas(8)
	n.wantManagers("my-operator/Update")
	n.wantLastApplied(`"replicas"`, false)

	n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"replicas":5}}`)
	n.apply(ruled("3"))
	n.wantReplicas(3) // row 6: the last writer is imperative, not a controller

	n.kubectl("patch", "deployment", "web", "--field-manager=my-operator", "-p", `{"spec":{"replicas":8}}`)
	n.apply(deployment("3", "app:1"))
	n.wantReplicas(3) // the manifest owns replicas again: the annotation is removed
}

// The cluster-proportional-autoscaler has no object that references what it scales: its name is all there is.
func TestAConfiguredAutoscalerOwnsTheFieldsItSets(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(deployment("3", "app:1"))
	n.kubectl("patch", "deployment", "web", "--field-manager=cluster-proportional-autoscaler", "--subresource=scale", "--type=merge", "-p", `{"spec":{"replicas":6}}`)
	n.wantManagers("cluster-proportional-autoscaler/Update/scale")
	r := n.apply(deployment("3", "app:1"))
	n.wantWarnings(r, keptReplicas(6, "cluster-proportional-autoscaler")...)
	n.wantReplicas(6)
	n.wantManagers("cluster-proportional-autoscaler/Update/scale")
}

func TestAnInvalidPathIsReportedAndIgnored(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	manifest := strings.Replace(deployment("3", "app:1"), "  name: web\n",
		"  name: web\n  annotations: {ownership-handoff.io/controller-fields: \"spec.replicas\"}\n", 1)
	n.apply(manifest)
	n.kubectl("patch", "deployment", "web", "--field-manager=my-operator", "-p", `{"spec":{"replicas":8}}`)
	r := n.apply(manifest)
	n.wantWarnings(r, `annotation controller-fields: path spec.replicas: at "spec.replicas": a dot is missing before a field name`)
	n.wantReplicas(3)
}
