package controlplane_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane"
)

func TestMutatingAdmissionPoliciesAreServedWhereTheyAreBetaOrStable(t *testing.T) {
	p := controlplane.ForTest(t, controlplane.Options{WithoutControllerManager: true})
	want := ""
	switch {
	case p.Since(36):
		want = "v1"
	case p.Since(34):
		want = "v1beta1"
	}
	if p.PoliciesVersion() != want || p.HasMutatingPolicies() != (want != "") {
		t.Errorf("%s: the version of MutatingAdmissionPolicy is %q, want %q", p.Version(), p.PoliciesVersion(), want)
	}
	resource := "mutatingadmissionpolicies." + want + ".admissionregistration.k8s.io"
	if out, err := exec.Command(p.Kubectl, "get", resource).CombinedOutput(); want != "" && err != nil {
		t.Errorf("kubectl get %s: %v: %s", resource, err, out)
	}
}

// A control plane of mixed versions builds, and says that it has the version of k8s.io/kubernetes.
func TestEachFolderBuildsOneVersionOfKubernetes(t *testing.T) {
	files, err := filepath.Glob("versions/*/go.mod")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v, error %v", files, err)
	}
	for _, file := range append(files, "parts/go.mod") {
		text, err := exec.Command("go", "mod", "edit", "-json", file).Output()
		expect.NoError(t, err)
		type module struct{ Path, Version string }
		var mod struct {
			Require []module
			Replace []struct{ Old, New module }
			Tool    []module
		}
		expect.NoError(t, json.Unmarshal(text, &mod))
		var patch string // 36.3 of 1.36.3
		for _, required := range mod.Require {
			if required.Path == "k8s.io/kubernetes" {
				patch = strings.TrimPrefix(required.Version, "v1.")
			}
		}
		minor, _, _ := strings.Cut(patch, ".")
		if folder := filepath.Base(filepath.Dir(file)); folder != "parts" && folder != "1."+minor {
			t.Errorf("%s requires Kubernetes 1.%s", file, patch)
		}
		if len(mod.Replace) < 20 {
			t.Errorf("%s replaces %d modules, want all staging modules", file, len(mod.Replace))
		}
		for _, replaced := range mod.Replace {
			expect.Equal(t, file+", which requires Kubernetes 1."+patch, module{replaced.Old.Path, "v0." + patch}, replaced.New)
		}
		tools := make([]string, 0, len(mod.Tool))
		for _, tool := range mod.Tool {
			tools = append(tools, filepath.Base(tool.Path))
		}
		want := []string{"kube-apiserver", "kube-controller-manager", "kubectl"}
		expect.Equal(t, file+" builds", want, tools[len(tools)-len(want):])
	}
}
