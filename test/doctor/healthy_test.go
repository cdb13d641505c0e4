package doctor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/plugin/doctor"
)

// waitHealthy waits until the doctor finds no problem, and returns the last report.
func waitHealthy(t *testing.T) doctor.Report {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		code, report := diagnose(t)
		if code == cli.ExitOK || time.Now().After(end) {
			if code != cli.ExitOK {
				t.Fatalf("exit code %d: %s", code, shown(report))
			}
			return report
		}
	}
}

// TestNamespacesThatTheClusterExcludesAreNoProblem changes the namespaceSelectors as GKE Autopilot does: during admission, so the
// manager is the one that applied them.
func TestNamespacesThatTheClusterExcludesAreNoProblem(t *testing.T) {
	waitHealthy(t)
	const path = "/webhooks/%d/namespaceSelector/matchExpressions/"
	for i, operation := range []string{
		`{"op": "add", "path": "` + path + `-", "value": {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "gke-gmp-system"]}}`,
		`{"op": "add", "path": "` + path + `0/values/-", "value": "gke-gmp-system"}`,
	} {
		must(t, patches("kubectl-client-side-apply", configuration, "["+fmt.Sprintf(operation, i)+"]"))
	}
	if code, report := diagnose(t); code != cli.ExitOK {
		t.Errorf("exit code %d:\n%s", code, shown(report))
	}
	must(t, reinstall)
	waitHealthy(t)
}

// TestAnEvictedPodIsNoProblem has a pod that stays until it is deleted, beside those that its ReplicaSet counts.
func TestAnEvictedPodIsNoProblem(t *testing.T) {
	waitHealthy(t)
	must(t, func() error { return runPod("handoff-webhook-0", "Failed", "False") })
	code, report := diagnose(t)
	must(t, runs("delete", "-n", namespace, "pod", "handoff-webhook-0"))
	if code != cli.ExitOK {
		t.Errorf("exit code %d:\n%s", code, shown(report))
	}
}

func shown(report doctor.Report) string {
	var b strings.Builder
	for _, c := range report.Checks {
		b.WriteString(c.Name + ": " + string(c.Result) + " " + c.Detail + "\n")
		for _, f := range c.Findings {
			b.WriteString("  " + f.Object + ": " + f.Problem + "\n    " + strings.Join(f.Remedies, "\n    ") + "\n")
		}
		for _, gap := range c.Gaps {
			b.WriteString("  " + gap + "\n")
		}
	}
	return b.String()
}

func TestHealthyInstallationHasNoFindings(t *testing.T) {
	report := waitHealthy(t)
	results := map[string]doctor.Result{}
	for _, c := range report.Checks {
		results[c.Name] = c.Result
	}
	for name, want := range map[string]doctor.Result{
		"api-server": doctor.OK, "configuration": doctor.OK, "pods": doctor.OK, "certificate": doctor.OK,
		"permissions": doctor.OK, "namespaces": doctor.OK, "dry-run": doctor.OK, "network": doctor.OK, "changes": doctor.OK,
		"versions": doctor.OK, "guard": doctor.Skipped,
	} {
		expect.Equal(t, name, want, results[name])
	}
	if text := shown(report); !strings.Contains(text, "dry-run: ok "+cluster.version+" answered in namespace shop") {
		t.Errorf("the webhook's answer is missing:\n%s", text)
	}
}
