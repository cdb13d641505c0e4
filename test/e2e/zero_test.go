package e2e_test

import (
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/test/objects"
)

// TestThreeMeaningsOfZero verifies who owns 0 replicas of an object that a HorizontalPodAutoscaler targets. TestScalersOwnWhatTheyReference
// has the replicas that a scaler has set to 0 itself.
func TestThreeMeaningsOfZero(t *testing.T) {
	t.Parallel()
	t.Run("a person has switched the autoscaler off", func(t *testing.T) {
		t.Parallel()
		n, twin := newNamespace(t, "enforce"), newNamespace(t, "")
		for _, each := range []*namespace{n, twin} {
			each.apply(deployment("3", "app:1"))
			each.kubectl("autoscale", "deployment", "web", "--min=7", "--max=20")
			each.eventually("the HPA controller scales to 7", func() bool { return each.replicas() == 7 })
		}
		n.known(true)
		for _, each := range []*namespace{n, twin} {
			each.kubectl("scale", "deployment", "web", "--replicas=0")
		}
		r := n.apply(deployment("3", "app:2"))
		n.wantWarnings(r, offAtZero)
		n.wantReplicas(0)
		n.settled()
		n.unchangedBy("a second unchanged apply", func() { n.apply(deployment("3", "app:2")) })
		twin.apply(deployment("3", "app:2"))
		if twin.replicas() == 0 {
			t.Error("without handoff: the apply does not start the workload")
		}
		n.kubectl("scale", "deployment", "web", "--replicas=1")
		n.eventually("the HPA controller scales again", func() bool { return n.replicas() == 7 })
	})
	for side, args := range map[string][]string{"client": nil, "server": serverSide()} {
		t.Run("the manifest has switched it off, and on again, "+side+"-side", func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.apply("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\n" +
				"spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 7, maxReplicas: 20}\n")
			n.eventually("handoff knows of the autoscaler", func() bool {
				r := n.apply(deployment("3", "app:1"), append([]string{"--dry-run=server", "-o", "jsonpath={.spec.replicas}"}, args...)...)
				return r.stdout == "7"
			})
			n.apply(deployment("0", "app:1"), args...)
			n.wantReplicas(0)
			n.apply(deployment("0", "app:2"), args...)
			n.wantReplicas(0)
			n.wantWarnings(n.apply(deployment("3", "app:2"), args...))
			n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
			n.apply(deployment("0", "app:2"), args...)
			n.wantReplicas(7) // as any other number in a manifest
		})
	}
}

// elastic scales the object web to the value of its external metric: to 0 as well.
const elastic = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 0
  maxReplicas: 20
  metrics:
  - {type: External, external: {metric: {name: queue}, target: {type: AverageValue, averageValue: "1"}}}
`

// informed waits until handoff has read all autoscalers of the namespace as they are now: a watch delivers them in order, and the
// first apply of a Deployment starts at the count of an autoscaler that is created now.
func (n *namespace) informed() {
	n.Helper()
	n.must(n.run(strings.NewReplacer("minReplicas: 0", "minReplicas: 7", "name: web", "name: marker").Replace(elastic), "create", "-f", "-"))
	n.eventually("handoff knows of the last autoscaler", func() bool {
		marker := strings.Replace(deployment("3", "app:1"), "name: web", "name: marker", 1)
		return n.apply(marker, "--dry-run=server", "-o", "jsonpath={.spec.replicas}").stdout == "7"
	})
}

// recordsScaledToZero reports whether the HPA controller records in the condition ScaledToZero that it has scaled to 0.
func recordsScaledToZero() bool { return cluster.Plane.Since(36) }

// needScaledToZero skips a test of an autoscaler with a minimum of 0 that a user has switched off with 0 replicas.
func needScaledToZero(t *testing.T) {
	t.Helper()
	if !recordsScaledToZero() {
		t.Skip("before Kubernetes 1.36, an HPA with a minimum of 0 scales from 0 replicas that anybody has set")
	}
}

// TestThreeMeaningsOfZeroOfAnAutoscalerThatScalesToZero verifies the same for an autoscaler whose minimum is 0. Its controller
// scales from 0 only if it has scaled to 0.
func TestThreeMeaningsOfZeroOfAnAutoscalerThatScalesToZero(t *testing.T) {
	t.Parallel()
	if cluster.Plane.Elsewhere() {
		t.Skip("the test needs the feature gate HPAScaleToZero, and metrics that this API server could not reach")
	}
	metrics := serveExternalMetrics(t)
	scales := func(n *namespace, to int64) {
		n.Helper()
		metrics.Set(n.name, int(to))
		n.eventually("the HPA controller scales to the metric's value", func() bool { return n.replicas() == to })
	}
	off := func(n *namespace) {
		n.Helper()
		n.eventually("the HPA controller is off", func() bool {
			return objects.JSONPath(n.T, n.objectOf("hpa"), `.status.conditions[?(@.type=="ScalingActive")].reason`) == "ScalingDisabled"
		})
	}
	t.Run("the autoscaler has scaled to 0", func(t *testing.T) {
		t.Parallel()
		n, twin := newNamespace(t, "enforce"), newNamespace(t, "")
		for _, each := range []*namespace{n, twin} {
			metrics.Set(each.name, 5)
			each.apply(deployment("3", "app:1"))
			each.apply(elastic)
			scales(each, 5)
			scales(each, 0)
			each.eventually("its status says so", func() bool {
				if !recordsScaledToZero() {
					return true
				}
				return objects.JSONPath(t, each.objectOf("hpa"), `.status.conditions[?(@.type=="ScaledToZero")].status`) == "True"
			})
		}
		n.known(true)
		r := n.apply(deployment("3", "app:2"))
		n.wantWarnings(r, keptReplicas(0, "HorizontalPodAutoscaler/web")...)
		n.wantReplicas(0)
		r = twin.apply(deployment("3", "app:2"), "-o", "jsonpath={.spec.replicas}")
		if r.stdout != "3" {
			t.Errorf("without handoff: the apply sets %s replicas, want 3", r.stdout)
		}
		scales(n, 5)
	})
	t.Run("a person has switched the autoscaler off", func(t *testing.T) {
		t.Parallel()
		needScaledToZero(t)
		n, twin := newNamespace(t, "enforce"), newNamespace(t, "")
		for _, each := range []*namespace{n, twin} {
			each.apply(deployment("3", "app:1"))
			each.apply(elastic)
			scales(each, 5)
			each.kubectl("scale", "deployment", "web", "--replicas=0")
			off(each)
		}
		n.known(true)
		r := n.apply(deployment("3", "app:2"))
		n.wantWarnings(r, offAtZero)
		n.wantReplicas(0)
		twin.apply(deployment("3", "app:2"))
		twin.eventually("without handoff: the HPA controller scales again", func() bool { return twin.replicas() == 5 })
		n.wantReplicas(0)
		n.kubectl("scale", "deployment", "web", "--replicas=1")
		n.eventually("the HPA controller scales again", func() bool { return n.replicas() == 5 })
	})
	for side, args := range map[string][]string{"client": nil, "server": serverSide()} {
		t.Run("the manifest has switched it off, and on again, "+side+"-side", func(t *testing.T) {
			t.Parallel()
			needScaledToZero(t)
			n, twin := newNamespace(t, "enforce"), newNamespace(t, "")
			for _, each := range []*namespace{n, twin} {
				metrics.Set(each.name, 5)
				each.apply(deployment("0", "app:1"), args...)
				each.apply(elastic)
				off(each)
			}
			n.informed()
			for _, each := range []*namespace{n, twin} {
				each.apply(deployment("0", "app:2"), args...)
				each.wantReplicas(0)
				each.wantWarnings(each.apply(deployment("3", "app:2"), args...))
				each.eventually("the HPA controller scales to 5", func() bool { return each.replicas() == 5 })
			}
			n.known(true)
			n.apply(deployment("0", "app:2"), args...)
			n.wantReplicas(5) // as any other number in a manifest
			twin.apply(deployment("0", "app:2"), args...)
			twin.wantReplicas(0)
		})
	}
	t.Run("before the condition ScaledToZero, 0 replicas do not switch the autoscaler off", func(t *testing.T) {
		t.Parallel()
		if recordsScaledToZero() {
			t.Skip("Kubernetes 1.36 and later have the condition ScaledToZero")
		}
		n := newNamespace(t, "enforce")
		metrics.Set(n.name, 5)
		n.apply(deployment("3", "app:1"))
		n.apply(elastic)
		scales(n, 5)
		n.known(true)
		n.kubectl("scale", "deployment", "web", "--replicas=0")
		n.eventually("the HPA controller scales again", func() bool { return n.replicas() == 5 })
		n.apply(deployment("3", "app:2"))
		n.wantReplicas(5)
	})
}
