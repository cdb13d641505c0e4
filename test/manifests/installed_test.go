package manifests_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// installed installs an overlay except for the MutatingWebhookConfiguration, because its Service has no pods: the cluster has no
// nodes.
func installed(t *testing.T, folder string) {
	t.Helper()
	all := kustomize(t, folder).without(func(o *unstructured.Unstructured) bool {
		return foreign(o) || o.GetKind() == "MutatingWebhookConfiguration"
	})
	kubectl(t, all.text(t), "apply", "--validate=strict", "-f-")
	t.Cleanup(func() {
		delete(all, "Namespace/"+system)
		// The test's context is canceled before the cleanup.
		if r := process.Run(context.WithoutCancel(t.Context()), nil, all.text(t), cluster.controlPlane.Kubectl, "delete", "--ignore-not-found", "-f-"); r.Err != nil {
			t.Error(r.Err)
		}
	})
}

func TestThePodsAreAdmittedAndThePermissionsSuffice(t *testing.T) {
	installed(t, "overlays/cert-manager") // exactly the permissions of base
	eventually(t, "pod security, the quota and the priority class admit two pods", func() bool {
		pods := kubectl(t, "", "-n", system, "get", "pods", "-l", "app.kubernetes.io/component=webhook", "-o", "name").Stdout
		return strings.Count(pods, "pod/") == 2
	})

	kubeconfig, err := cluster.controlPlane.AddUser("system:serviceaccount:"+system+":handoff-webhook",
		"system:serviceaccounts", "system:serviceaccounts:"+system, "system:authenticated")
	expect.NoError(t, err)
	hook, err := handofftest.Start(t.Context(), cluster.controlPlane, handofftest.Options{Kubeconfig: kubeconfig})
	expect.NoError(t, err) // the webhook is not ready without the ClusterRole's permissions
	expect.NoError(t, hook.Register(t.Context()))
	kubectl(t, "", "create", "namespace", "installed")
	kubectl(t, "", "annotate", "namespace", "installed", "ownership-handoff.io/mode=enforce")
	const web = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "installed"}, "spec": {"replicas": 3,
		"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}}}`
	kubectl(t, web, "apply", "-f-")
	kubectl(t, "", "-n", "installed", "autoscale", "deployment", "web", "--min=7", "--max=9")
	eventually(t, "replicas are kept and an Event is recorded", func() bool {
		kubectl(t, web, "apply", "-f-")
		return strings.Contains(kubectl(t, "", "-n", "installed", "get", "events.events.k8s.io", "-o", "jsonpath={.items[*].reason}").Stdout, "OwnershipKept")
	})

	if err := hook.Unregister(t.Context()); err != nil {
		t.Error(err)
	}
	if err := hook.Stop(); err != nil {
		t.Error(err)
	}
	if log := hook.Log(); strings.Contains(log, "forbidden") {
		t.Errorf("a request of the webhook was forbidden:\n%s", log)
	}
}

func TestThePermissionsAreMinimal(t *testing.T) {
	// Do not run in parallel with the test above, which grants permissions to the same ServiceAccount.
	installed(t, "overlays/self-signed")
	kubeconfig, err := cluster.controlPlane.AddUser("system:serviceaccount:"+system+":handoff-webhook",
		"system:serviceaccounts", "system:serviceaccounts:"+system, "system:authenticated")
	expect.NoError(t, err)
	may := func(question string) string {
		// kubectl auth can-i fails if the answer is no.
		args := append([]string{"--kubeconfig", kubeconfig, "auth", "can-i"}, strings.Fields(question)...)
		return strings.TrimSpace(run(t, "", args...).Stdout)
	}
	const last = "create secrets -n handoff-system"
	eventually(t, "the permissions are granted", func() bool {
		return may(last) == "yes" && may("list namespaces") == "yes" && may("patch mutatingwebhookconfigurations/handoff") == "yes"
	})
	self, err := handofftest.Start(t.Context(), cluster.controlPlane,
		handofftest.Options{Kubeconfig: kubeconfig, Args: []string{"--self-signed", "--namespace=" + system}})
	expect.NoError(t, err) // it is not ready without the permissions for its Secret
	if err := self.Stop(); err != nil || strings.Contains(self.Log(), "forbidden") {
		t.Errorf("self-signed: %v\n%s", err, self.Log())
	}
	for sentence, c := range map[string]struct{ question, want string }{
		"read its own Secret":                                {"get secret/handoff-webhook-tls -n handoff-system", "yes"},
		"read another Secret in its namespace":               {"get secret/other -n handoff-system", "no"},
		"read a Secret in another namespace":                 {"get secret/handoff-webhook-tls -n default", "no"},
		"list Secrets":                                       {"list secrets -n handoff-system", "no"},
		"patch its own configuration":                        {"patch mutatingwebhookconfigurations/handoff", "yes"},
		"patch another configuration":                        {"patch mutatingwebhookconfigurations/other", "no"},
		"create a configuration":                             {"create mutatingwebhookconfigurations", "no"},
		"watch namespaces":                                   {"watch namespaces", "yes"},
		"update namespaces":                                  {"update namespaces", "no"},
		"patch namespaces, which a policy limits to a label": {"patch namespaces", "yes"},
		"patch the status of namespaces":                     {"patch namespaces --subresource=status", "no"},
		"list autoscalers in all namespaces":                 {"list horizontalpodautoscalers.autoscaling -A", "yes"},
		"read workloads":                                     {"get deployments.apps -A", "no"},
		"update workloads":                                   {"update deployments.apps -A", "no"},
		"create Events in any namespace":                     {"create events.events.k8s.io -n default", "yes"},
		"delete Events":                                      {"delete events.events.k8s.io -n default", "no"},
		"create its Secret":                                  {last, "yes"},
		"create Leases":                                      {"create leases.coordination.k8s.io -n handoff-system", "no"},
		"create a Secret in another namespace":               {"create secrets -n default", "no"},
		"delete its Secret":                                  {"delete secret/handoff-webhook-tls -n handoff-system", "no"},
	} {
		t.Run(sentence, func(t *testing.T) {
			expect.Equal(t, "kubectl auth can-i "+c.question, c.want, may(c.question))
		})
	}
}
