package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestTheOracle holds that the object stored with handoff is the one that the documented manual procedure gives on a twin
// in a namespace without handoff: kubectl apply edit-last-applied takes the field out of the annotation, the field is
// taken out of the manifest, the manifest is applied
// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#how-to-change-ownership-of-a-field).
func TestTheOracle(t *testing.T) {
	t.Parallel()
	autoscaled := func(n *namespace) {
		n.apply(deployment("3", "app:1"))
		n.kubectl("autoscale", "deployment", "web", "--min=7", "--max=20")
		n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
	}
	for name, c := range map[string]struct {
		before   func(*namespace)
		manifest string // applied with handoff
		let      string // the manifest that has let go, applied by the manual procedure
	}{
		"row 1, the manifest still sets replicas":         {autoscaled, deployment("3", "app:1"), deployment("", "app:1")},
		"row 1, and changes its image":                    {autoscaled, deployment("3", "app:2"), deployment("", "app:2")},
		"row 1, and replicas are what they are by chance": {autoscaled, deployment("7", "app:2"), deployment("", "app:2")},
		"row 2, the manifest lets go":                     {autoscaled, deployment("", "app:1"), deployment("", "app:1")},
		"row 2, and changes its image":                    {autoscaled, deployment("", "app:2"), deployment("", "app:2")},
		"row 8, the manifest says null":                   {autoscaled, deployment("null", "app:1"), deployment("", "app:1")},
		"row 3, a person has scaled": {func(n *namespace) {
			n.apply(deployment("3", "app:1"))
			n.kubectl("scale", "deployment", "web", "--replicas=5")
		}, deployment("", "app:1"), deployment("", "app:1")},
		"row 3, a person has patched": {func(n *namespace) {
			n.apply(deployment("3", "app:1"))
			n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"replicas":5}}`)
		}, deployment("", "app:2"), deployment("", "app:2")},
		"row 4, nobody else wrote replicas": {func(n *namespace) {
			n.apply(deployment("3", "app:1"))
		}, deployment("", "app:1"), deployment("", "app:1")},
		"an autoscaler that never had to scale": {func(n *namespace) {
			n.apply(deployment("3", "app:1"))
			n.kubectl("autoscale", "deployment", "web", "--min=3", "--max=20")
		}, deployment("5", "app:1"), deployment("", "app:1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with, twin := newNamespace(t, "enforce"), newNamespace(t, "")
			c.before(with)
			c.before(twin)
			if with.run("", "get", "hpa", "web").err == nil {
				with.known(true)
			}
			with.apply(c.manifest)

			editor := twin.file("editor", `sed -i 's/"replicas":[0-9]*,//; s/"replicas": [0-9]*,//; /^ *replicas:/d' "$1"`)
			twin.must(twin.runAs([]string{"KUBE_EDITOR=sh " + editor}, "", "apply", "edit-last-applied", "deployment/web"))
			twin.wantLastApplied("replicas", false)
			twin.apply(c.let)

			with.settled()
			twin.settled()
			if diff := cmp.Diff(stored(twin), stored(with)); diff != "" {
				t.Errorf("the object (-by hand +by handoff):\n%s", diff)
			}
		})
	}
}

// TestTheOracleOfServerSideApply is the same for server-side apply: a manifest with the field alone is applied by another
// manager, which hands over to the autoscaler, and the field is taken out of the manifest
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership).
func TestTheOracleOfServerSideApply(t *testing.T) {
	t.Parallel()
	with, twin := newNamespace(t, "enforce"), newNamespace(t, "")
	for _, n := range []*namespace{with, twin} {
		n.applyServerSide(deployment("3", "app:1"))
		n.kubectl("autoscale", "deployment", "web", "--min=3", "--max=20")
	}
	with.known(true)
	with.applyServerSide(deployment("", "app:2"))

	only := "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3}}"
	twin.apply(only, "--server-side", "--field-manager=handover-to-hpa", "--validate=false")
	twin.applyServerSide(deployment("", "app:2"))

	for _, n := range []*namespace{with, twin} {
		n.kubectl("patch", "hpa", "web", "-p", `{"spec":{"minReplicas":7}}`)
		n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
		n.settled()
	}
	if diff := cmp.Diff(stored(twin), stored(with)); diff != "" {
		t.Errorf("the object (-by hand +by handoff):\n%s", diff)
	}
}

// stored is the object web without what the API server gives each object of its own: identity, times, and versions. The
// generation is one: the procedure by hand takes a write more.
func stored(n *namespace) map[string]any {
	n.Helper()
	o := n.object()
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "namespace", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", name)
	}
	entries := o.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int { // the API server orders them by time
		return strings.Compare(a.Manager+string(a.Operation)+a.Subresource, b.Manager+string(b.Operation)+b.Subresource)
	})
	o.SetManagedFields(entries)
	annotations := o.GetAnnotations()
	for name, value := range annotations {
		annotations[name] = strings.ReplaceAll(value, n.name, "NAMESPACE")
	}
	o.SetAnnotations(annotations)
	// Which pods a replica set has made so far is its controller's pace, and not of anybody's writing.
	delete(o.Object, "status")
	return o.Object
}
