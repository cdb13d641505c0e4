package manifests_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// installed puts an overlay into the cluster, all but the MutatingWebhookConfiguration: its Service leads to pods, and
// there is no node here for them to run on.
func installed(t *testing.T, folder string) {
	t.Helper()
	all := kustomize(t, folder).without(func(o *unstructured.Unstructured) bool {
		return foreign(o) || o.GetKind() == "MutatingWebhookConfiguration"
	})
	kubectl(t, all.text(t), "apply", "--validate=strict", "-f-")
	t.Cleanup(func() {
		delete(all, "Namespace/"+system)
		// The context of a test ends before its cleanup.
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), cluster.plane.Kubectl, "delete", "--ignore-not-found", "-f-")
		cmd.Stdin = strings.NewReader(all.text(t))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("kubectl delete: %v\n%s", err, out)
		}
	})
}

func TestThePodsAreAdmittedAndThePermissionsSuffice(t *testing.T) {
	installed(t, "overlays/cert-manager") // the rights of base, and no more
	eventually(t, "pod security, the quota and the priority class admit two pods", func() bool {
		pods := kubectl(t, "", "-n", system, "get", "pods", "-l", "app.kubernetes.io/component=webhook", "-o", "name").stdout
		return strings.Count(pods, "pod/") == 2
	})

	kubeconfig, err := cluster.plane.AddUser("system:serviceaccount:"+system+":handoff-webhook",
		"system:serviceaccounts", "system:serviceaccounts:"+system, "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
	hook, err := handofftest.Start(t.Context(), cluster.plane, handofftest.Options{Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err) // not ready without what the ClusterRole lists
	}
	if err := hook.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "", "create", "namespace", "shop")
	kubectl(t, "", "annotate", "namespace", "shop", "ownership-handoff.io/mode=enforce")
	const web = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 3,
		"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}}}`
	kubectl(t, web, "apply", "-f-")
	kubectl(t, "", "-n", "shop", "autoscale", "deployment", "web", "--min=7", "--max=9")
	eventually(t, "an apply is kept and recorded as an event", func() bool {
		kubectl(t, web, "apply", "-f-")
		return strings.Contains(kubectl(t, "", "-n", "shop", "get", "events.events.k8s.io", "-o", "jsonpath={.items[*].reason}").stdout, "OwnershipKept")
	})

	metrics, err := hook.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, used := range []string{
		"handoff_certificate_expiration_timestamp_seconds", "process_resident_memory_bytes", "go_memstats_heap_inuse_bytes",
	} {
		if !strings.Contains(metrics, "\n"+used+" ") {
			t.Errorf("alerts or panels are about %s, which the webhook does not have", used)
		}
	}
	if err := hook.Unregister(t.Context()); err != nil {
		t.Error(err)
	}
	if err := hook.Stop(); err != nil {
		t.Error(err)
	}
	if log := hook.Log(); strings.Contains(log, "forbidden") {
		t.Errorf("the webhook asked for what it may not do:\n%s", log)
	}
}

func TestThePermissionsAreMinimal(t *testing.T) {
	// Not side by side with the test above, which gives the same account the same rights.
	installed(t, "overlays/self-signed")
	kubeconfig, err := cluster.plane.AddUser("system:serviceaccount:"+system+":handoff-webhook",
		"system:serviceaccounts", "system:serviceaccounts:"+system, "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
	may := func(question string) string {
		// kubectl auth can-i ends with an error where the answer is no.
		args := append([]string{"--kubeconfig", kubeconfig, "auth", "can-i"}, strings.Fields(question)...)
		return strings.TrimSpace(run(t, "", cluster.plane.Kubectl, args...).stdout)
	}
	const last = "create secrets -n handoff-system"
	eventually(t, "the rights are granted", func() bool {
		return may(last) == "yes" && may("list namespaces") == "yes" && may("patch mutatingwebhookconfigurations/handoff") == "yes"
	})
	for sentence, c := range map[string]struct{ question, want string }{
		"it reads its own Secret":             {"get secret/handoff-webhook-tls -n handoff-system", "yes"},
		"it reads no other Secret beside it":  {"get secret/other -n handoff-system", "no"},
		"it reads no Secret elsewhere":        {"get secret/handoff-webhook-tls -n default", "no"},
		"it lists no Secrets":                 {"list secrets -n handoff-system", "no"},
		"it keeps its own configuration":      {"patch mutatingwebhookconfigurations/handoff", "yes"},
		"it keeps nobody else's":              {"patch mutatingwebhookconfigurations/other", "no"},
		"it makes no configuration":           {"create mutatingwebhookconfigurations", "no"},
		"it follows namespaces":               {"watch namespaces", "yes"},
		"it writes none":                      {"update namespaces", "no"},
		"it follows autoscalers everywhere":   {"list horizontalpodautoscalers.autoscaling -A", "yes"},
		"it reads no workloads":               {"get deployments.apps -A", "no"},
		"it writes no workloads":              {"update deployments.apps -A", "no"},
		"it records events everywhere":        {"create events.events.k8s.io -n default", "yes"},
		"it deletes none":                     {"delete events.events.k8s.io -n default", "no"},
		"it stores its Secret the first time": {last, "yes"},
		"it elects no leader":                 {"create leases.coordination.k8s.io -n handoff-system", "no"},
		"it writes no Secret elsewhere":       {"create secrets -n default", "no"},
		"it deletes no Secret":                {"delete secret/handoff-webhook-tls -n handoff-system", "no"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := may(c.question); got != c.want {
				t.Errorf("kubectl auth can-i %s: got %q, want %s", c.question, got, c.want)
			}
		})
	}
}
