package clients_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	"github.com/ownership-handoff/handoff/test/objects"
)

// routed is what a client applies beside a Rollout: the weights in a VirtualService and the selectors of Services, which Argo Rollouts
// changes. All of them are inside atomic fields.
type routed struct{ timeout string }

func (r routed) String() string {
	const service = `---
apiVersion: v1
kind: Service
metadata: {name: %s, annotations: {ownership-handoff.io/controller-fields: .spec.selector.rollouts-pod-template-hash}}
spec: {ports: [{port: 80}], selector: {app: %s}}
`
	return `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: web
  annotations: {ownership-handoff.io/controller-fields: ".spec.http[name=*].route[destination.host=*].weight"}
spec:
  hosts: [web]
  http:
  - {name: primary, route: [{destination: {host: stable}, weight: 100}, {destination: {host: canary}, weight: 0}]}
  - {name: files, timeout: ` + r.timeout + `, route: [{destination: {host: files}}]}
` + fmt.Sprintf(service, "stable", "web") + fmt.Sprintf(service, "canary", "web") + fmt.Sprintf(service, "active", "green")
}

// canaryAt is a Rollout that sends a part of the traffic to a new version, and one that switches a Service to it.
const canaryAt = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {schedulerName: nobody, containers: [{name: app, image: "IMAGE"}]}}
  strategy:
    canary:
      canaryService: canary
      stableService: stable
      trafficRouting: {istio: {virtualService: {name: web, routes: [primary]}}}
      steps: [{setWeight: 20}, {pause: {}}, {setWeight: 40}, {pause: {}}]
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: green}
spec:
  replicas: 1
  selector: {matchLabels: {app: green}}
  template: {metadata: {labels: {app: green}}, spec: {schedulerName: nobody, containers: [{name: app, image: "IMAGE"}]}}
  strategy: {blueGreen: {activeService: active}}
`

// TestARolloutKeepsItsTraffic plays Argo Rollouts at 20% with 50 applies of each client. Without handoff, the watch sees the weight or
// the hash of a selector change.
func TestARolloutKeepsItsTraffic(t *testing.T) {
	t.Parallel()
	playable(t, "rollouts-controller", false)
	expect.NoError(t, suite.istio())
	for _, by := range []*applier{
		kubectl("kubectl apply"), kubectl("kubectl apply --server-side", "--server-side", "--force-conflicts"), helm("Helm 3", helmRun{program: "helm"}), flux(),
		argocd("Argo CD", "ServerSideApply=true"),
	} {
		for _, handoff := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, handoff=%t", by.name, handoff), func(t *testing.T) {
				t.Parallel()
				playable(t, by.by, false)
				playTraffic(newNamespace(t, handoff), by)
			})
		}
	}
}

func playTraffic(n *namespace, by *applier) {
	n.Helper()
	applies := map[bool]int{false: 10, true: 50}[n.handoff]
	expect.NoError(n, by.create(n, routed{"5s"}))
	n.startRollout()
	weights, hashes := n.watched("virtualservice/web", `{.spec.http[0].route[*].weight}{"\n"}`), n.watched("services", `{.metadata.name} {.spec.selector}{"\n"}`)
	for range applies {
		expect.NoError(n, by.apply(n, routed{"5s"}))
	}
	expect.NoError(n, by.apply(n, routed{"9s"}))
	time.Sleep(time.Second) // until the watches have seen everything
	// The watches have seen other weights than at 20%, or more than one selector of a Service.
	moved := !slices.Equal(weights(), []string{"80 20"}) || len(hashes()) != 3
	if !n.handoff {
		if !moved {
			n.Error("without handoff, neither a weight nor a selector has changed: the test proves nothing")
		}
		return
	}
	if moved {
		n.Errorf("want the weights 80 20 and the selectors unchanged, got %v %v", weights(), hashes())
	}
	expect.Equal(n, "the edit of the other route", "9s", n.kubectl("", "get", "virtualservice", "web", "-o", "jsonpath={.spec.http[1].timeout}"))
	n.kubectl("", "patch", "rollout", "web", "--subresource=status", "--type=merge", "-p", `{"status":{"pauseConditions":null}}`)
	n.eventually("the rollout goes on", func() bool { return n.weights() == "60 40" })
	expect.NoError(n, by.apply(n, routed{"9s"}))
	expect.Equal(n, "weights after the promotion", "60 40", n.weights())
}

func (n *namespace) weights() string {
	n.Helper()
	return n.kubectl("", "get", "virtualservice", "web", "-o", "jsonpath={.spec.http[0].route[*].weight}")
}

// startRollout starts Argo Rollouts and its two Rollouts, and returns when one is at 20%, and the other has switched its Service.
func (n *namespace) startRollout() {
	n.Helper()
	n.startRollouts()
	go n.runPods()
	for _, version := range []string{"app:1", "app:2"} {
		n.kubectl(strings.ReplaceAll(canaryAt, "IMAGE", version), "apply", "-f", "-")
		n.eventually("the Rollouts are at rest", func() bool {
			phases := n.kubectl("", "get", "rollouts", "-o", "jsonpath={range .items[*]}{.metadata.name} {.status.phase},{end}")
			return phases == map[string]string{"app:1": "green Healthy,web Healthy,", "app:2": "green Healthy,web Paused,"}[version]
		})
	}
	n.eventually("the canary gets 20%", func() bool { return n.weights() == "80 20" })
}

// runPods makes all pods ready, as a kubelet would.
func (n *namespace) runPods() {
	for n.Context().Err() == nil {
		var pods corev1.PodList
		_ = suite.api.List(n.Context(), &pods, client.InNamespace(n.name)) // until the test ends
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Status.Phase == corev1.PodRunning {
				continue
			}
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			_ = suite.api.Status().Update(n.Context(), pod) // it can have been deleted
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// watched watches objects, and returns a function that returns the different lines that it has seen.
func (n *namespace) watched(what, jsonpath string) (seen func() []string) {
	n.Helper()
	log := filepath.Join(n.dir, strings.ReplaceAll(what, "/", "-")+".log")
	p, err := process.Start(log, suite.cluster.Plane.Kubectl, "--namespace="+n.name, "get", what, "--watch", "-o", "jsonpath="+jsonpath)
	expect.NoError(n, err)
	n.Cleanup(func() { _ = p.Stop(time.Second) })
	n.eventually("the watch begins", func() bool { return p.Log() != "" })
	return func() []string {
		lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
		slices.Sort(lines)
		return slices.Compact(lines)
	}
}

// installIstio creates the CRD of VirtualServices.
func installIstio() error {
	return install(objects.VirtualServices(), "virtualservices.networking.istio.io")
}
