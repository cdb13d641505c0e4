package manifests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
)

func example(names ...string) string {
	return filepath.Join(append([]string{cluster.root, "examples"}, names...)...)
}

func TestTheAPIServerAcceptsTheExamples(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() { run(t, "", "delete", "namespace", "shop", "--ignore-not-found") })
	expect.Equal(t, "warnings of kubectl apply", "", kubectl(t, "", "apply", "--validate=strict", "-f", example("shop")).Stderr)
	installations := map[string]objects{
		"a kustomization with a rule": decode(t, kubectl(t, "", "kustomize", example("rule")).Stdout),
		"failurePolicy Fail":          decode(t, kubectl(t, "", "kustomize", example("fail")).Stdout),
		"no Secrets":                  decode(t, kubectl(t, "", "kustomize", example("no-secrets")).Stdout),
		"client authentication":       decode(t, kubectl(t, "", "kustomize", example("client-ca")).Stdout),
		"the chart with a rule":       rendered(t, "handoff", filepath.Join(cluster.root, "manifests", "chart"), "-n", system, "-f", example("helm", "handoff.yaml")),
		"a chart with an autoscaler":  rendered(t, "web", example("helm", "web")),
		"a chart without one":         rendered(t, "web", example("helm", "web"), "--set", "autoscaling.enabled=false"),
	}
	for sentence, all := range installations {
		r := kubectl(t, all.without(unserved).text(t), "apply", "--dry-run=server", "--validate=strict", "-f-")
		expect.Equal(t, sentence+": warnings of kubectl apply", "", r.Stderr)
	}
	for sentence, want := range map[string]bool{"a chart with an autoscaler": false, "a chart without one": true} {
		_, found, err := unstructured.NestedFieldNoCopy(installations[sentence]["Deployment/web"].Object, "spec", "replicas")
		if err != nil || found != want {
			t.Errorf("%s: sets replicas: %t, want %t: %v", sentence, found, want, err)
		}
	}
}

func rendered(t *testing.T, args ...string) objects {
	t.Helper()
	r := helm(t, append([]string{"template", "--kube-version", kubernetes(), "--skip-tests"}, args...)...)
	expect.NoError(t, r.Err)
	return decode(t, r.Stdout)
}

// TestTheExamplesBelongTogether checks what no API server here does: the webhook reads the configuration, and the GitOps tools apply
// a folder that exists.
func TestTheExamplesBelongTogether(t *testing.T) {
	t.Parallel()
	file, err := config.Read(example("rule", "config.yaml"))
	expect.NoError(t, err)
	expect.Equal(t, "number of rules", 1, len(file.Rules))
	application := decode(t, read(t, "..", "examples", "argocd", "application.yaml"))["Application/shop"].Object
	kustomization := decode(t, read(t, "..", "examples", "flux", "shop.yaml"))["Kustomization/shop"].Object
	for tool, at := range map[string]struct {
		object map[string]any
		path   []string
	}{
		"Argo CD": {application, []string{"spec", "source", "path"}},
		"Flux":    {kustomization, []string{"spec", "path"}},
	} {
		path, _, err := unstructured.NestedString(at.object, at.path...)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		if info, err := os.Stat(filepath.Join(cluster.root, strings.TrimPrefix(path, "./"))); err != nil || !info.IsDir() {
			t.Errorf("%s applies %s: %v", tool, path, err)
		}
	}
}
