package plugin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/golden"
)

// TestKubectlFindsAndCompletesThePlugin runs the plugin through kubectl, as a shell does.
func TestKubectlFindsAndCompletesThePlugin(t *testing.T) {
	root, err := controlplane.Root()
	expect.NoError(t, err)
	path := filepath.Join(root, "bin") + ":" + filepath.Dir(cluster.controlPlane.Kubectl) + ":" + os.Getenv("PATH") // see make build
	for line, want := range map[string]string{
		"handoff explain deployment/web .spec.replicas -n shop": "`.spec.replicas` is 7: HorizontalPodAutoscaler `web` set it through /scale at TIME; " +
			"the last-applied manifest sets 3; an apply would set 3 (handoff: keeps 7)",
		"__complete handoff expl":          "explain",
		"__complete handoff doct":          "doctor",
		"__complete handoff explain --own": "--owner",
	} {
		t.Run(line, func(t *testing.T) {
			cmd := exec.Command(cluster.controlPlane.Kubectl, strings.Fields(line)...)
			cmd.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+cluster.controlPlane.Kubeconfig, "KUBECACHEDIR="+filepath.Join(cluster.controlPlane.Dir, "cache"))
			output, err := cmd.Output()
			if first, _, _ := strings.Cut(string(output), "\n"); err != nil || !strings.HasPrefix(golden.Settle(first), want) {
				t.Errorf("want %q, got %v:\n%s", want, err, output)
			}
		})
	}
}
