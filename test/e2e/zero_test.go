package e2e_test

import (
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/test/objects"
)

const offAtZero = "kept .spec.replicas=0, HorizontalPodAutoscaler/web is off at 0; start it with kubectl scale"

// scalesTo waits until a controller has scaled the object.
func scalesTo(replicas int64) step {
	return did(func(n *namespace) {
		n.Helper()
		n.eventually("the controller scales", func() bool { return n.replicas() == replicas })
	})
}

// knows waits until handoff knows whether an autoscaler targets the object.
func knows(autoscaler bool) step { return did(func(n *namespace) { n.Helper(); n.known(autoscaler) }) }

// TestThreeMeaningsOfZero verifies who owns 0 replicas of an object that a HorizontalPodAutoscaler targets. TestScalersOwnWhatTheyReference
// has the replicas that a scaler has set to 0 itself.
func TestThreeMeaningsOfZero(t *testing.T) {
	t.Parallel()
	play(t, map[string]scenario{"a person has switched the autoscaler off": autoscaled(
		scaled("0"), applies(deployment("3", "app:2")).warns(offAtZero).replicas(0).twice(), scaled("1"), scalesTo(7),
	)})
	playBy(t, bothSides(), map[string]scenario{
		"the manifest has switched it off, and on again": {steps: []step{
			writes(strings.Replace(idle("apps/v1", "Deployment"), "minReplicas: 1", "minReplicas: 7", 1), "create"),
			untilDryRun(deployment("3", "app:1"), ".spec.replicas", "7"),
			applies(deployment("0", "app:1")).replicas(0), applies(deployment("0", "app:2")).replicas(0),
			applies(deployment("3", "app:2")).warns(), scalesTo(7),
			applies(deployment("0", "app:2")).replicas(7), // as any other number in a manifest
		}},
		"the manifest confirms the 0 of kubectl scale": {steps: []step{
			applies(deployment("3", "app:1")), autoscaledTo(7), scaled("0"),
			applies(deployment("0", "app:1")).replicas(0).warns().twice(), applies(deployment("3", "app:2")).replicas(3).warns(),
		}},
		"the manifest confirms the 0 of kubectl create": {steps: []step{
			writes(deployment("0", "app:1"), "create"), runs("autoscale", "deployment", "web", "--min=1", "--max=20"), did((*namespace).informed),
			applies(deployment("0", "app:1")).replicas(0).warns(), applies(deployment("3", "app:1")).replicas(3).warns(),
		}},
	})
}

// informed waits until handoff has read all autoscalers of the namespace as they are now: a watch delivers them in order, and the
// first apply of a Deployment starts at the count of an autoscaler that is created now.
func (n *namespace) informed() {
	n.Helper()
	n.must(n.run(strings.NewReplacer("minReplicas: 0", "minReplicas: 7", "name: web", "name: marker").Replace(testdata("elastic")), "create", "-f", "-"))
	n.eventually("handoff knows of the last autoscaler", func() bool {
		marker := strings.Replace(deployment("3", "app:1"), "name: web", "name: marker", 1)
		return n.apply(marker, "--dry-run=server", "-o", "jsonpath={.spec.replicas}").Stdout == "7"
	})
}

// TestThreeMeaningsOfZeroOfAnAutoscalerThatScalesToZero verifies the same for an autoscaler whose minimum is 0. Its controller
// scales from 0 only if it has scaled to 0. Since Kubernetes 1.36, it records that in the condition ScaledToZero; before, it scales from 0
// replicas that anybody has set.
func TestThreeMeaningsOfZeroOfAnAutoscalerThatScalesToZero(t *testing.T) {
	t.Parallel()
	if cluster.Plane.Elsewhere() {
		t.Skip("the test needs the feature gate HPAScaleToZero, and metrics that this API server could not reach")
	}
	n := &namespace{T: t, name: "default"}
	// Namespaces cannot be deleted while an API of the cluster is registered and not served.
	t.Cleanup(func() { n.kubectl("delete", "apiservice", "v1beta1.external.metrics.k8s.io", "--ignore-not-found") })
	metrics := objects.ServeExternalMetrics(t, func(stdin string, args ...string) { n.must(n.run(stdin, args...)) })
	measured := func(value int) step { return did(func(n *namespace) { metrics.Set(n.name, value) }) }
	status := func(path, want string) step {
		return did(func(n *namespace) {
			n.Helper()
			n.eventually("the status of the HPA", func() bool { return objects.JSONPath(n.T, n.objectOf("hpa"), path) == want })
		})
	}
	const condition = `.status.conditions[?(@.type=="ScaledToZero")].status`
	off := status(`.status.conditions[?(@.type=="ScalingActive")].reason`, "ScalingDisabled")
	starts := []step{measured(5), applies(deployment("3", "app:1")), writes(testdata("elastic"), "create"), scalesTo(5)}
	kept := applies(deployment("3", "app:2")).warns(keptReplicas(0, hpa)...).replicas(0)
	if !cluster.Plane.Since(36) {
		play(t, map[string]scenario{
			"the autoscaler has scaled to 0": {steps: append(starts, measured(0), scalesTo(0), knows(true), kept, measured(5), scalesTo(5))},
			"0 replicas do not switch the autoscaler off": {steps: append(starts, knows(true), scaled("0"), scalesTo(5),
				applies(deployment("3", "app:2")).replicas(5))},
		})
		return
	}
	play(t, map[string]scenario{
		"the autoscaler has scaled to 0": {steps: append(starts, measured(0), scalesTo(0), status(condition, "True"), knows(true), kept,
			measured(5), scalesTo(5))},
		"a person has switched the autoscaler off": {steps: append(starts, scaled("0"), off, knows(true),
			applies(deployment("3", "app:2")).warns(offAtZero).replicas(0), scaled("1"), scalesTo(5))},
	})
	playBy(t, bothSides(), map[string]scenario{"the manifest has switched it off, and on again": {steps: []step{
		measured(5), applies(deployment("0", "app:1")), writes(testdata("elastic"), "create"), off, did((*namespace).informed),
		applies(deployment("0", "app:2")).replicas(0), applies(deployment("3", "app:2")).warns(), scalesTo(5), knows(true),
		applies(deployment("0", "app:2")).replicas(5), // as any other number in a manifest
	}}})
}
