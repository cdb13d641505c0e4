package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	"github.com/ownership-handoff/handoff/test/objects"
)

// chartOfWeb is the template of a chart that has the values replicas and image.
func chartOfWeb() string {
	return strings.NewReplacer("VALUE_IMAGE", "{{ .Values.image }}", "  replicas: 0\n", "{{ with .Values.replicas }}\n  replicas: {{ . }}\n{{ end }}").
		Replace(deployment("0", "VALUE_IMAGE"))
}

// release runs Helm 3 with a chart of one template.
func (n *namespace) release(verb, template string, args ...string) result {
	n.Helper()
	chart, environment := objects.Chart(n.T, template)
	args = append([]string{verb, "web", chart, "--namespace", n.name, "--kubeconfig", cluster.Plane.Kubeconfig}, args...)
	r := process.Run(n.Context(), environment, "", helmBinary(n.T), args...)
	n.Logf("helm %v: %v\n%s%s", args, r.Err, r.Stdout, r.Stderr)
	return n.must(r)
}

// helmBinary returns the path of Helm, which make bin/helm builds.
func helmBinary(t *testing.T) string {
	t.Helper()
	root, err := controlplane.Root()
	expect.NoError(t, err)
	path := filepath.Join(root, "bin", "helm")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("finding Helm: %v; run make bin/helm", err)
	}
	return path
}

// releases runs Helm 3 with a chart of one template.
func releases(verb, template string) step {
	return step{do: func(s stage) result { s.Helper(); return s.release(verb, template) }}
}

// helms runs Helm 3 with a chart that has the values replicas and image.
func helms(verb string, values ...string) step {
	return step{do: func(s stage) result {
		s.Helper()
		var as []string
		if slices.Contains(s.args, withoutWebhook[0]) {
			as = []string{"--kube-as-user=system:kube-scheduler", "--kube-as-group=system:masters"}
		}
		return s.release(verb, chartOfWeb(), append(as, "--set", strings.Join(values, ","))...)
	}}
}

// prints checks that the output of a command contains a text.
func (p step) prints(text string) step {
	return p.check(func(s stage, r result) {
		s.Helper()
		if !strings.Contains(r.Stderr, text) {
			s.Errorf("want %q in the output, got %s", text, r.Stderr)
		}
	})
}

// TestHelm3 verifies that a chart is an applier's manifest, and that the remedy in a warning is right for a writer who records none.
func TestHelm3(t *testing.T) {
	t.Parallel()
	play(t, map[string]scenario{
		"rows 1, 2 and 6": {steps: []step{
			helms("install", "replicas=3").managers("helm/Update"),
			autoscales("7").managers(byAutoscaler),
			helms("upgrade", "replicas=3", "image=app:2").prints("kept .spec.replicas=7, owned by " + hpa).replicas(7).managers(byAutoscaler),
			helms("upgrade", "image=app:3").replicas(7).managers(byAutoscaler).twice(), // without replicas
			autoscalerDeleted(),
			helms("upgrade", "replicas=4", "image=app:3").replicas(4).managers("helm/Update"),
		}},
		"a chart that has just dropped replicas, under an autoscaler": {steps: []step{
			releases("install", deployment("3", "app:1")), autoscaledTo(7),
			releases("upgrade", deployment("", "app:2")).replicas(7).prints("owned by " + hpa + "; remove it if the manifest sets it"),
		}},
		"a chart that has just dropped replicas, without an autoscaler": {steps: []step{
			releases("install", deployment("7", "app:1")),
			releases("upgrade", deployment("", "app:2")).replicas(1).prints(toOne), // it looks like a chart that sets 1
		}},
		"a chart that sets 1 replica, after kubectl replace has recorded a manifest without replicas": {steps: []step{
			releases("install", deployment("3", "app:1")),
			did(func(n *namespace) { n.replace(deployment("", "app:1"), "--save-config") }),
			patchedBy("kubectl-patch", `{"spec":{"replicas":5}}`), releases("upgrade", deployment("1", "app:2")).replicas(1),
		}},
		"a chart that drops a block in which a controller owns a field, with a rule on the field": droppedBlock(
			".spec.template.spec.containers[*].resources.requests.cpu"),
		"a chart that drops a block in which a controller owns a field, with a rule on the block": droppedBlock(
			".spec.template.spec.containers[*].resources"),
	})
}

// droppedBlock applies a chart that drops the resources of a controller: Helm's managedFields entry still contains the empty block.
func droppedBlock(rule string) scenario {
	manifest := func(image string) string { return ruled(rule, deployment("3", image)) }
	return scenario{steps: []step{
		releases("install", manifest("app:1")),
		resizedByVPA(),
		releases("upgrade", manifest("app:2")).value(cpu, "50m"),
		releases("upgrade", withoutResources(manifest("app:3"))).value(cpu, "50m"),
		releases("upgrade", withoutResources(manifest("app:4"))).value(cpu, "50m"),
	}}
}

func TestControllersThatOwnReplicas(t *testing.T) {
	t.Parallel()
	rule := func(fields string) string { return ruled(fields, deployment("3", "app:1")) }
	both := rule(".spec.replicas, .spec.paused")
	scaled8 := patchedBy("my-operator", `{"spec":{"replicas":8}}`)
	play(t, map[string]scenario{
		"by a rule": {steps: []step{
			applies(both), scaled8,
			applies(both).warns("kept .spec.replicas=8, owned by my-operator; remove it from the manifest").replicas(8).
				managers("my-operator/Update").omits(`"replicas"`),
			patchedBy("kubectl-patch", `{"spec":{"replicas":5}}`),
			applies(both).replicas(3), // row 6: the last writer is imperative, not a controller
			scaled8,
			applies(deployment("3", "app:1")).replicas(3), // the manifest owns replicas again: the annotation is removed
		}},
		// Without a rule, a server-side apply of nothing but replicas is not a manifest either: this is how an operator sets 0 at night.
		"by an operator that applies only replicas": {steps: []step{
			applies(deployment("3", "app:1")), autoscaledTo(7),
			did(func(n *namespace) {
				n.appliedBy("sleeper", `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":0}}`)
			}).replicas(0),
			applies(deployment("3", "app:1")).replicas(0).managers("sleeper/Apply").twice(), // the autoscaler owns it, and does not scale from 0
			autoscalerDeleted(), applies(deployment("", "app:1")).replicas(0), // row 3
		}},
		"not by an invalid path": {steps: []step{
			applies(rule("spec.replicas")), scaled8,
			applies(rule("spec.replicas")).replicas(3).
				warns(`annotation controller-fields: path spec.replicas: at "spec.replicas": a dot is missing before a field name`),
		}},
		// The cluster-proportional-autoscaler has no object that references what it scales: its name is all there is.
		"a configured autoscaler": {steps: []step{
			applies(deployment("3", "app:1")),
			scaledBy("cluster-proportional-autoscaler", 6).managers("cluster-proportional-autoscaler/Update/scale"),
			applies(deployment("3", "app:1")).warns(keptReplicas(6, "cluster-proportional-autoscaler")...).replicas(6).
				managers("cluster-proportional-autoscaler/Update/scale"),
		}},
	})
}
