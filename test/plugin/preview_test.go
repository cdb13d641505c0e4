package plugin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/test/objects"
)

// TestPreview previews applies to the objects of prepare. No webhook is installed here; TestGeneratedPreviewsMatchKubectlApply has one.
func TestPreview(t *testing.T) {
	for name, lines := range map[string][]string{
		"preview": {
			"preview -n shop -f testdata/objects.yaml",
			"preview -n shop -f testdata/preview/web.yaml",
			"preview -n shop -f testdata/preview/web.yaml -o jsonpath={.items[0].fields[?(@.acted)].path}",
			"preview -n office -f testdata/objects.yaml",
		},
		"previewserverside": {
			"preview -n shop --server-side -f testdata/api.yaml",
			"preview -n shop --server-side -f testdata/preview/worker.yaml",
			"preview -n shop --server-side --force-conflicts -f testdata/preview/worker.yaml",
			"preview -n shop --server-side --force-conflicts -f testdata/preview/web.yaml",
		},
		"previewwrong": {
			"preview -n shop -f testdata/preview/wrong.yaml",
			"preview -n shop -f testdata/preview/wrong.yaml --validate=false",
			"preview -n shop -f testdata/preview/type.yaml",
			"preview -n shop -f testdata/preview/unknown.yaml",
			"preview -n nosuch -f testdata/preview/web.yaml",
			"preview -n shop -f testdata/preview/web.yaml --context nosuch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkGolden(t, name, transcript(t, cluster.controlPlane.Kubeconfig, lines...))
		})
	}
	checkGolden(t, "previewlimited", transcript(t, cluster.limited, "preview -n shop -f testdata/preview/web.yaml"))
}

// TestPreviewWithoutPermissionToReadNamespaces verifies that the permissions of an apply are sufficient.
func TestPreviewWithoutPermissionToReadNamespaces(t *testing.T) {
	checkGolden(t, "previewteam", transcript(t, team(t),
		"preview -n shop -f testdata/preview/web.yaml",
		"preview -n shop -l tier=back -f testdata/objects.yaml",
		"preview -n shop -l tier=front -f testdata/objects.yaml -o jsonpath={.items[*].mode}",
	))
}

// team returns the kubeconfig of a user with the permissions of an apply in namespace shop.
func team(t *testing.T) (kubeconfig string) {
	t.Helper()
	play(t, "apply -f testdata/preview/team.yaml")
	kubeconfig, err := cluster.controlPlane.AddUser("team")
	expect.NoError(t, err)
	return kubeconfig
}

// TestPreviewWhereAPolicyRefusesTheLabel verifies that a preview does not take the error about its own label for that of the apply.
func TestPreviewWhereAPolicyRefusesTheLabel(t *testing.T) {
	startWebhook(t)
	kubeconfig := team(t)
	const policy, annotate = "../../examples/policy/objects.yaml", "annotate --overwrite namespace shop " + optin.Annotation
	play(t, "apply -f "+policy)
	t.Cleanup(func() { play(t, "delete -f "+policy, annotate+"-") })
	for mode, want := range map[string]string{
		"enforce": "kept .spec.replicas=7, owned by HorizontalPodAutoscaler/web; no action needed\npartial: deployment.apps/web: " +
			"unknown what the apply does without handoff, because the label ownership-handoff.io/mode=off",
		"off": "a dry run has the result of WITHOUT HANDOFF",
	} {
		play(t, annotate+"="+mode)
		seen := ""
		for end := time.Now().Add(patience); !strings.Contains(seen, want); seen = handoff(t, kubeconfig, "preview -n shop -f testdata/preview/web.yaml") {
			if time.Now().After(end) {
				t.Fatalf("%s: want %s, got\n%s", mode, want, seen)
			}
		}
		if strings.Contains(seen, "(rejected)") || strings.Contains(seen, "(unknown)") != (mode == "enforce") {
			t.Errorf("%s: got\n%s", mode, seen)
		}
	}
}

// TestPreviewOfRejectedApply tests row 7, and row 12, in a namespace where handoff is enabled but its webhook is not installed.
func TestPreviewOfRejectedApply(t *testing.T) {
	play(t, "create namespace stock", "annotate namespace stock "+optin.Annotation+"=enforce", "apply -n stock -f testdata/preview/set.yaml",
		"apply -n stock -l part=autoscaler -f testdata/preview/start.yaml")
	checkGolden(t, "previewrefused", transcript(t, cluster.controlPlane.Kubeconfig,
		"preview -n stock -f testdata/preview/set.yaml",
		"preview -n stock -f testdata/preview/ondelete.yaml",
		"preview -n stock --server-side --field-manager=kubectl-client-side-apply -f testdata/preview/ondelete.yaml",
		"preview -n stock -f testdata/preview/start.yaml",
		"preview -n stock -l part=workload -f testdata/preview/start.yaml -o yaml",
	))
}

// TestPreviewOfAnApplyThatFailsNow previews an apply that handoff would make valid if it were on.
func TestPreviewOfAnApplyThatFailsNow(t *testing.T) {
	startWebhook(t)
	play(t, "create namespace rescue", "apply -n rescue -f testdata/preview/set.yaml")
	t.Cleanup(func() { play(t, "delete namespace rescue") })
	seen := handoff(t, cluster.controlPlane.Kubeconfig, "preview -n rescue -f testdata/preview/ondelete.yaml")
	for _, want := range []string{"(rejected)", "cleared by handoff", "WITHOUT HANDOFF applies: the mode is off", "[exit code 2]"} {
		if !strings.Contains(seen, want) {
			t.Errorf("want %s, got\n%s", want, seen)
		}
	}
}

// TestPreviewByAnotherConfiguration previews a rule where the webhook answers without it.
func TestPreviewByAnotherConfiguration(t *testing.T) {
	startWebhook(t)
	play(t, "create namespace bank", "annotate namespace bank "+optin.Annotation+"=enforce", "apply -n bank -f testdata/preview/web.yaml",
		"-n bank autoscale deployment/web --max=9", "-n bank scale deployment/web --replicas=4",
		"-n bank set image deployment/web app=registry.invalid/web:9 --field-manager=keel")
	t.Cleanup(func() { play(t, "delete namespace bank") })
	rule := "{name: images, kinds: [{group: apps, kind: Deployment}], writers: [keel], fields: ['.spec.template.spec.containers[*].image']}"
	file := objects.Write(t, "apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\nrules: ["+rule+"]\n", t.TempDir(), "handoff.yaml")
	for _, want := range []string{`"registry.invalid/web:9"   kept by handoff`, "WITH HANDOFF is by --config"} {
		seen := ""
		for end := time.Now().Add(patience); !strings.Contains(seen, want) && time.Now().Before(end); {
			seen = handoff(t, cluster.controlPlane.Kubeconfig, "preview -n bank -f testdata/objects.yaml --config "+file)
		}
		if !strings.Contains(seen, want) {
			t.Errorf("want %s, got\n%s", want, seen)
		}
	}
}
