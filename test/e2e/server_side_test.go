package e2e_test

import (
	"strings"
	"testing"
)

// applyServerSide applies with --force-conflicts, as a pipeline does.
func (n *namespace) applyServerSide(manifest string, args ...string) result {
	n.Helper()
	return n.apply(manifest, append([]string{"--server-side", "--force-conflicts"}, args...)...)
}

func TestServerSideApplyRow1(t *testing.T) {
	t.Parallel()
	for name, manager := range map[string]string{
		"kubectl": "kubectl",
		"Flux":    "kustomize-controller",
		"Argo CD": "argocd-controller",
		"Helm 4":  "helm",
		"any":     "deploy-bot",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			as := "--field-manager=" + manager
			n.applyServerSide(deployment("3", "app:1"), as)
			n.autoscale("7")
			n.wantManagers("kube-controller-manager/Update/scale")

			r := n.applyServerSide(deployment("3", "app:1"), as)
			n.wantWarnings(r, keptReplicas(7, "HorizontalPodAutoscaler/web")...)
			n.wantReplicas(7)
			n.wantManagers("kube-controller-manager/Update/scale")
			n.unchangedBy("a second unchanged apply", func() { n.applyServerSide(deployment("3", "app:1"), as) })

			n.applyServerSide(deployment("3", "app:2"), as)
			n.wantReplicas(7)
			n.wantManagers("kube-controller-manager/Update/scale")
			n.unchangedBy("an apply without replicas", func() { n.applyServerSide(deployment("", "app:2"), as) })
		})
	}
}

func TestServerSideApplyWithoutForceConflicts(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t, "7", "--server-side")
	r := n.run(deployment("3", "app:1"), "apply", "-f", "-", "--server-side")
	if r.err == nil || !strings.Contains(r.stderr, `conflict with "kube-controller-manager"`) {
		t.Errorf("want the API server's own conflict, got %v: %s", r.err, r.stderr)
	}
	n.wantReplicas(7)
}

func TestServerSideApplyRow2WithAnAutoscalerThatNeverScaled(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t, "3", "--server-side", "--force-conflicts")
	n.wantManagers("kubectl/Apply")

	n.applyServerSide(deployment("5", "app:1"))
	n.wantReplicas(3)
	n.wantManagers("kubectl/Apply") // as in live: another manager would make the next apply conflict
	n.unchangedBy("a second unchanged apply", func() { n.apply(deployment("5", "app:1"), "--server-side") })
	n.applyServerSide(deployment("", "app:1"))
	n.wantReplicas(3)
	n.wantManagers() // as if the manifest had never set it
	n.unchangedBy("a second apply without replicas", func() { n.applyServerSide(deployment("", "app:1")) })

	n.kubectl("patch", "hpa", "web", "-p", `{"spec":{"minReplicas":7}}`)
	n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
	n.applyServerSide(deployment("5", "app:1"))
	n.wantReplicas(7)
}

func TestServerSideApplyWithReplicasAgainDoesNotConflictWithHandoff(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t, "3", "--server-side")
	n.apply(deployment("", "app:1"), "--server-side")
	n.wantReplicas(3)
	n.kubectl("delete", "hpa", "web")
	n.known(false)
	n.apply(deployment("5", "app:1"), "--server-side") // without force
	n.wantReplicas(5)
	n.wantManagers("kubectl/Apply")
}

func TestServerSideApplyRow4KeepsReplicasRemovedFromTheManifest(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.applyServerSide(deployment("3", "app:1"))
	r := n.applyServerSide(deployment("", "app:1"))
	n.wantWarnings(r, "kept .spec.replicas=3, no longer in the manifest; use an HPA or kubectl scale")
	n.wantReplicas(3)
	n.wantManagers()
	n.unchangedBy("a second unchanged apply", func() {
		n.wantWarnings(n.applyServerSide(deployment("", "app:1")))
	})
}

func TestServerSideApplyRow6TheManifestTakesOverReplicas(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.applyServerSide(deployment("3", "app:1"))
	n.kubectl("scale", "deployment", "web", "--replicas=5")
	n.applyServerSide(deployment("", "app:1"))
	n.wantReplicas(5) // row 3, without handoff's help in server-side apply
	n.applyServerSide(deployment("3", "app:1"))
	n.wantReplicas(3)
	n.wantManagers("kubectl/Apply")
}

func TestAManifestMovesFromClientSideToServerSideApply(t *testing.T) {
	t.Parallel()
	t.Run("after the autoscaler has scaled", func(t *testing.T) {
		t.Parallel()
		n := newAutoscaled(t, "7")
		n.applyServerSide(deployment("3", "app:1"))
		n.wantReplicas(7)
		n.wantManagers("kube-controller-manager/Update/scale")
		n.unchangedBy("a second unchanged apply", func() { n.applyServerSide(deployment("3", "app:1")) })
	})
	t.Run("with an autoscaler that never scaled", func(t *testing.T) {
		t.Parallel()
		n := newAutoscaled(t, "3")
		n.apply(deployment("5", "app:1"), "--server-side") // kubectl migrates the managedFields: no conflict
		n.wantReplicas(3)
		n.apply(deployment("5", "app:1"), "--server-side")
		n.wantReplicas(3)
		n.wantManagers("kubectl/Apply")
		for _, e := range n.object().GetManagedFields() {
			if e.Manager == "kubectl-client-side-apply" && e.Operation == "Update" {
				t.Errorf("kubectl's client-side entry still exists: %s", e.FieldsV1)
			}
		}
	})
	t.Run("without an autoscaler", func(t *testing.T) {
		t.Parallel()
		n := newNamespace(t, "enforce")
		n.apply(deployment("3", "app:1"))
		n.apply(deployment("4", "app:1"), "--server-side")
		n.wantReplicas(4)
		n.wantManagers("kubectl/Apply")
	})
}
