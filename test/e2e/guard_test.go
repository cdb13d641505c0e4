package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// guarded waits until the guard keeps what an apply would change.
func (n *namespace) guarded(manifest string, args []string) {
	n.Helper()
	n.kubectl("label", "namespace", n.name, "e2e-guard=")
	want := strconv.FormatInt(n.replicas(), 10)
	n.eventually("the guard is in effect", func() bool {
		dryRun := []string{"--dry-run=server", "-o", "jsonpath={.spec.replicas}"}
		return n.apply(manifest, slices.Concat(args, withoutWebhook, dryRun)...).stdout == want
	})
}

// TestTheWebhookStoresTheSameWithTheGuard verifies that the stored object and the warnings are the same with and without the
// guard: the webhook undoes the guard's changes before it decides.
func TestTheWebhookStoresTheSameWithTheGuard(t *testing.T) {
	cluster.Plane.NeedMutatingPolicies(t)
	t.Parallel()
	argo := []string{"--field-manager=argocd-controller"}
	forced := []string{"--server-side", "--force-conflicts"}
	scaled := func(n *namespace) { n.autoscale("7") }
	scaledByUser := func(n *namespace) { n.kubectl("scale", "deployment", "web", "--replicas=5") }
	noOther := func(*namespace) {}
	for sentence, c := range map[string]struct {
		args     []string
		then     func(*namespace)
		manifest string
	}{
		"row 1, client-side":                     {nil, scaled, deployment("3", "app:1")},
		"row 1, client-side, with another image": {nil, scaled, deployment("4", "app:2")},
		"row 1, Argo CD":                         {argo, scaled, deployment("3", "app:1")},
		"row 1, server-side":                     {forced, scaled, deployment("3", "app:2")},
		"row 2, client-side":                     {nil, scaled, deployment("", "app:2")},
		"row 2, Argo CD":                         {argo, scaled, deployment("", "app:1")},
		"row 3, client-side":                     {nil, scaledByUser, deployment("", "app:2")},
		"row 4, client-side":                     {nil, noOther, deployment("", "app:2")},
		"row 4, server-side":                     {forced, noOther, deployment("", "app:2")},
		"row 8, client-side":                     {nil, scaled, deployment("null", "app:1")},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			alone, behind := newNamespace(t, "enforce"), newNamespace(t, "enforce")
			for _, n := range []*namespace{alone, behind} {
				n.apply(deployment("3", "app:1"), c.args...)
				c.then(n)
			}
			behind.guarded(c.manifest, c.args)
			was := behind.replicas()
			var warnings [2][]string
			for i, n := range []*namespace{alone, behind} {
				warnings[i] = n.apply(c.manifest, c.args...).warnings()
				n.wantReplicas(was)
				n.settled()
			}
			if diff := cmp.Diff(warnings[0], warnings[1]); diff != "" {
				t.Errorf("the warnings (-without +with the guard):\n%s", diff)
			}
			if diff := cmp.Diff(stored(alone), stored(behind)); diff != "" {
				t.Errorf("the object (-without +with the guard):\n%s", diff)
			}
			behind.unchangedBy("a second unchanged apply", func() { behind.apply(c.manifest, c.args...) })
		})
	}
}

// Helm 3 does not write last-applied: only its new managedFields entry shows that the manifest sets replicas.
func TestWithTheGuardHelm3KeepsTheValueAndItsManager(t *testing.T) {
	cluster.Plane.NeedMutatingPolicies(t)
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.helm("install", "replicas=3")
	n.autoscale("7")
	n.guarded(deployment("4", "app:1"), nil)
	n.helm("upgrade", "replicas=4", "image=app:2")
	n.wantReplicas(7)
	n.wantManagers("kube-controller-manager/Update/scale")
	n.helm("upgrade", "image=app:3")
	n.wantReplicas(7)
	n.wantManagers("kube-controller-manager/Update/scale")
	n.kubectl("patch", "hpa", "web", "-p", `{"spec":{"minReplicas":8}}`)
	n.eventually("the HPA controller scales to 8", func() bool { return n.replicas() == 8 })
	n.wantManagers("kube-controller-manager/Update/scale")
}

func TestWithTheGuardTheWebhookCorrectsTheManagers(t *testing.T) {
	cluster.Plane.NeedMutatingPolicies(t)
	t.Parallel()
	serverSide := []string{"--server-side", "--force-conflicts"}
	for sentence, c := range map[string]struct {
		args []string
		then func(*namespace)
	}{
		"client-side apply": {nil, func(*namespace) {}},
		"server-side apply": {serverSide, func(*namespace) {}},
		"server-side apply in the second of another write": {serverSide, (*namespace).hasWritesOfTheNextSeconds},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			args := c.args
			n := newAutoscaled(t, args...)
			n.guarded(deployment("3", "app:1"), args)
			c.then(n)
			n.apply(deployment("3", "app:1"), args...)
			n.wantReplicas(7)
			n.wantManagers("kube-controller-manager/Update/scale")
			n.wantLastApplied("replicas", false)
			n.unchangedBy("a second unchanged apply", func() { n.apply(deployment("3", "app:1"), args...) })
			n.apply(deployment("", "app:2"), args...)
			n.wantReplicas(7)
			n.wantManagers("kube-controller-manager/Update/scale")

			n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"replicas":9}}`)
			n.wantReplicas(9)
			n.wantManagers("kubectl-patch/Update")
		})
	}
}

func TestWithTheGuardTheWebhookHandsReplicasBack(t *testing.T) {
	cluster.Plane.NeedMutatingPolicies(t)
	t.Parallel()
	for side, args := range map[string][]string{"client": nil, "server": serverSide()} {
		t.Run(side+"-side apply", func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.apply(deployment("3", "app:1"), args...)
			n.autoscale("7")
			n.kubectl("delete", "hpa", "web")
			n.known(false)
			n.guarded(deployment("3", "app:1"), args)
			n.apply(deployment("3", "app:1"), args...)
			n.wantReplicas(3)
			n.wantNoTrace()
			if got := n.fieldManagers(); len(got) != 1 || !strings.HasPrefix(got[0], "kubectl") {
				t.Errorf("managers of .spec.replicas: got %v, want kubectl alone", got)
			}
		})
	}
}

// TestTheWebhookCorrectsWhatTheGuardStored verifies that an outage of the webhook, during which the guard has kept replicas, has
// no effect on later writes.
func TestTheWebhookCorrectsWhatTheGuardStored(t *testing.T) {
	cluster.Plane.NeedMutatingPolicies(t)
	t.Parallel()
	for applier, args := range map[string][]string{
		"kubectl-client-side-apply/Update": nil, "kubectl/Apply": {"--server-side", "--force-conflicts"},
	} {
		t.Run(applier, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.silent = true // previews assume that the webhook is up
			n.apply(deployment("3", "app:1"), args...)
			n.autoscale("7")
			n.guarded(deployment("3", "app:1"), args)
			for range 2 {
				n.apply(deployment("3", "app:2"), slices.Concat(args, withoutWebhook)...)
				n.wantReplicas(7)
			}
			n.wantNoTrace()

			n.apply(deployment("3", "app:3"), args...)
			n.wantReplicas(7)
			n.wantLastApplied("replicas", false)
			n.wantNoTrace()
			// As stored: a keep leaves the entries of the live object.
			n.wantManagers("kube-controller-manager/Update/scale", applier)
			n.unchangedBy("a second unchanged apply", func() { n.apply(deployment("3", "app:3"), args...) })

			n.kubectl("delete", "hpa", "web")
			n.known(false)
			n.apply(deployment("3", "app:3"), args...)
			n.wantReplicas(3)
		})
	}
}

// wantNoTrace verifies that nothing of the guard is stored.
func (n *namespace) wantNoTrace() {
	n.Helper()
	if text, err := n.object().MarshalJSON(); err != nil || strings.Contains(string(text), "guarded") || strings.Contains(string(text), "handoff-guard") {
		n.Errorf("want no trace of the guard, got %s, error %v", text, err)
	}
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
