package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/objects"
)

// installGuard installs manifests/guard for namespaces with the label e2e-guard only, because all other tests are about the
// webhook alone. It does nothing if the API server does not have the guard's API.
func installGuard(ctx context.Context) error {
	if !cluster.Plane.HasMutatingPolicies() {
		return nil
	}
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(cluster.Plane.Dir, "guard-*")
	if err != nil {
		return err
	}
	guard, err := filepath.Rel(dir, filepath.Join(root, objects.GuardFolder(cluster.Plane.PoliciesVersion())))
	if err != nil {
		return err
	}
	text := fmt.Sprintf("resources: [%q]\n", guard) + objects.DormantGuard
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, cluster.Plane.Kubectl, "apply", "-k", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply -k: %w: %s", err, out)
	}
	time.Sleep(5 * time.Second) // the webhook checks every 4 seconds whether the guard is installed
	return nil
}

// withoutWebhook are the flags of an apply that the webhook ignores, because it is one of the scheduler's.
var withoutWebhook = []string{"--as=system:kube-scheduler", "--as-group=system:masters"}

// scheduler returns a client whose writes the webhook ignores as well.
func (n *namespace) scheduler(agent string) client.Client {
	n.Helper()
	config := rest.CopyConfig(cluster.Plane.Config)
	config.UserAgent, config.WarningHandlerWithContext = agent, rest.NoWarnings{}
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:kube-scheduler", Groups: []string{"system:masters"}}
	api, err := client.New(config, client.Options{})
	expect.NoError(n, err)
	return api
}

// guarded makes the guard apply to the namespace, and waits until it keeps replicas that a manifest of another object drops.
func guarded() step {
	return did(func(n *namespace) {
		n.Helper()
		n.kubectl("label", "namespace", n.name, "e2e-guard=")
		probe, api := decoded(n, labeledMode("enforce")), n.scheduler("")
		probe.SetName("probe")
		probe.SetNamespace(n.name)
		apply := func(o *unstructured.Unstructured, options ...client.PatchOption) int64 {
			n.Helper()
			//nolint:staticcheck // the object is unstructured
			expect.NoError(n, api.Patch(n.Context(), o, client.Apply, append(options, client.FieldOwner("kustomize-controller"))...))
			return replicasOf(n, o)
		}
		apply(probe.DeepCopy())
		unstructured.RemoveNestedField(probe.Object, "spec", "replicas")
		n.eventually("the guard is in effect", func() bool { return apply(probe.DeepCopy(), client.DryRunAll) == 3 })
	})
}

// TestTheWebhookStoresTheSameWithTheGuard verifies that the stored object and the warnings are the same with and without the
// guard: the webhook undoes the guard's changes before it decides.
func TestTheWebhookStoresTheSameWithTheGuard(t *testing.T) {
	cluster.Plane.NeedMutatingPolicies(t)
	t.Parallel()
	argo, forced := []string{"--field-manager=argocd-controller"}, serverSide()
	after := func(args []string, then ...step) []step {
		return append([]step{applies(deployment("3", "app:1"), args...)}, then...)
	}
	scaled := autoscaledTo(7)
	for sentence, steps := range map[string][]step{
		"row 1, client-side":                     after(nil, scaled, applies(deployment("3", "app:1")).replicas(7)),
		"row 1, client-side, with another image": after(nil, scaled, applies(deployment("4", "app:2")).replicas(7)),
		"row 1, Argo CD":                         after(argo, scaled, applies(deployment("3", "app:1"), argo...).replicas(7)),
		"row 1, server-side":                     after(forced, scaled, applies(deployment("3", "app:2"), forced...).replicas(7)),
		"row 1, server-side, in the second of another write": after(forced, scaled, did((*namespace).hasWritesOfTheNextSeconds),
			applies(deployment("3", "app:1"), forced...).replicas(7).managers(byAutoscaler)),
		// Helm 3 does not write last-applied: only its new managedFields entry shows that the manifest sets replicas.
		"row 1, Helm 3":                          {helms("install", "replicas=3"), scaled, helms("upgrade", "replicas=4", "image=app:2").replicas(7).managers(byAutoscaler)},
		"row 2, Helm 3":                          {helms("install", "replicas=3"), scaled, helms("upgrade", "replicas=4"), helms("upgrade", "image=app:3").replicas(7)},
		"row 1, until the autoscaler is deleted": after(nil, scaled, autoscalerDeleted(), applies(deployment("3", "app:1")).replicas(3)),
		"row 1, until the autoscaler is deleted, server-side": after(forced, scaled, autoscalerDeleted(),
			applies(deployment("3", "app:1"), forced...).replicas(3)),
		"row 2, client-side": after(nil, scaled, applies(deployment("", "app:2")).replicas(7)),
		"row 2, Argo CD":     after(argo, scaled, applies(deployment("", "app:1"), argo...).replicas(7)),
		"row 3, client-side": after(nil, runs("scale", "deployment", "web", "--replicas=5"), applies(deployment("", "app:2")).replicas(5)),
		"row 4, client-side": after(nil, applies(deployment("", "app:2")).replicas(3)),
		"row 4, server-side": after(forced, applies(deployment("", "app:2"), forced...).replicas(3)),
		"row 8, client-side": after(nil, scaled, applies(deployment("null", "app:1")).replicas(7)),
		"row 9":              after(nil, scaled, patchedBy("kubectl-patch", `{"spec":{"replicas":9}}`).replicas(9).managers("kubectl-patch/Update")),
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			last := len(steps) - 1
			var warnings [2][]string
			var stores [2]map[string]any
			for i, before := range [][]step{nil, {guarded()}} {
				compared := steps[last].check(func(s stage, r result) {
					s.settled()
					warnings[i], stores[i] = r.Warnings(), stored(s.namespace)
				}).untraced().twice()
				scenario{steps: slices.Concat(before, steps[:last], []step{compared})}.play(t, applier{})
			}
			expect.Equal(t, "the warnings without and with the guard", warnings[0], warnings[1])
			expect.Equal(t, "the object without and with the guard", stores[0], stores[1])
		})
	}
}

// TestTheWebhookCorrectsWhatTheGuardStored verifies that an outage of the webhook, during which the guard has kept replicas, has
// no effect on later writes.
func TestTheWebhookCorrectsWhatTheGuardStored(t *testing.T) {
	cluster.Plane.NeedMutatingPolicies(t)
	t.Parallel()
	for manager, args := range map[string][]string{byClientSide: nil, byServerSide: serverSide()} {
		alone := applies(deployment("3", "app:2"), withoutWebhook...).replicas(7).untraced()
		playBy(t, map[string]applier{manager: {args: args}}, map[string]scenario{"an outage": {steps: []step{
			guarded(), applies(deployment("3", "app:1")), autoscaledTo(7), alone, alone,
			// As stored: a keep leaves the entries of the live object.
			applies(deployment("3", "app:3")).replicas(7).omits("replicas").untraced().managers(byAutoscaler, manager).twice(),
			autoscalerDeleted(), applies(deployment("3", "app:3")).replicas(3),
		}}})
	}
}

// untraced checks that nothing of the guard is stored.
func (p step) untraced() step {
	return p.check(func(s stage, _ result) {
		s.Helper()
		if text, err := s.object().MarshalJSON(); err != nil || strings.Contains(string(text), "guarded") || strings.Contains(string(text), "handoff-guard") {
			s.Errorf("want no trace of the guard, got %s, error %v", text, err)
		}
	})
}

// hasWritesOfTheNextSeconds adds a managedFields entry for each of the next 30 seconds, as if another manager had written then.
// The times in managedFields are whole seconds.
func (n *namespace) hasWritesOfTheNextSeconds() {
	n.Helper()
	operations := make([]string, 30)
	now := time.Now().UTC()
	for i := range operations {
		operations[i] = fmt.Sprintf(`{"op":"add","path":"/metadata/managedFields/-","value":{"manager":"other-%d",
			"operation":"Apply","apiVersion":"apps/v1","time":%q,"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":
			{"f:other":{}}}}}}`, i, now.Add(time.Duration(i)*time.Second).Format(time.RFC3339))
	}
	n.kubectl("label", "deployment", "web", "other=one", "--field-manager=other-0")
	n.kubectl("patch", "deployment", "web", "--type=json", "--field-manager=other-0", "-p", "["+strings.Join(operations, ",")+"]")
}
