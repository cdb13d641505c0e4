package e2e_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/ownership"
)

// TestTheOracle verifies that handoff stores the same object as the documented manual procedure on a twin in a namespace without
// handoff: remove the field from the annotation with kubectl apply edit-last-applied, remove the field from the manifest, and
// apply the manifest
// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#how-to-change-ownership-of-a-field).
func TestTheOracle(t *testing.T) {
	t.Parallel()
	autoscaled := func(n *namespace) {
		n.apply(deployment("3", "app:1"))
		n.kubectl("autoscale", "deployment", "web", "--min=7", "--max=20")
		n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
	}
	ruledApp := func(manifest string) string { return ruled(".spec.template.spec.containers[*].resources", manifest) }
	resized := func(n *namespace) { n.resized() }
	for name, c := range map[string]struct {
		before   func(*namespace)
		manifest string // applied with handoff
		removed  string // the manifest without the field, applied in the manual procedure
		edit     string // sed script that removes the field from last-applied; default: replicas
	}{
		"row 1, a field of a controller rule": {
			before: resized, manifest: ruledApp(deployment("3", "app:2")),
			removed: ruledApp(withoutResources(deployment("3", "app:2"))),
			edit:    "/resources:$/d; /requests:/d; /cpu: 10m/d",
		},
		"row 2, a field of a controller rule": {
			before: resized, manifest: ruledApp(withoutResources(deployment("3", "app:2"))),
			removed: ruledApp(withoutResources(deployment("3", "app:2"))),
			edit:    "/resources:$/d; /requests:/d; /cpu: 10m/d",
		},
		"row 3, a unit": {
			before: func(n *namespace) {
				n.apply(with("paused: false", deployment("3", "app:1")))
				n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"paused":true}}`)
			},
			manifest: deployment("3", "app:2"), removed: deployment("3", "app:2"), edit: "/paused/d",
		},
		"row 1, the manifest still sets replicas":    {before: autoscaled, manifest: deployment("3", "app:1"), removed: deployment("", "app:1")},
		"row 1, the manifest changes the image":      {before: autoscaled, manifest: deployment("3", "app:2"), removed: deployment("", "app:2")},
		"row 1, the manifest sets the live replicas": {before: autoscaled, manifest: deployment("7", "app:2"), removed: deployment("", "app:2")},
		"row 2, the manifest does not set replicas":  {before: autoscaled, manifest: deployment("", "app:1"), removed: deployment("", "app:1")},
		"row 2, the manifest changes the image":      {before: autoscaled, manifest: deployment("", "app:2"), removed: deployment("", "app:2")},
		"row 8, the manifest sets null":              {before: autoscaled, manifest: deployment("null", "app:1"), removed: deployment("", "app:1")},
		"row 3, after kubectl scale": {before: func(n *namespace) {
			n.apply(deployment("3", "app:1"))
			n.kubectl("scale", "deployment", "web", "--replicas=5")
		}, manifest: deployment("", "app:1"), removed: deployment("", "app:1")},
		"row 3, after kubectl patch": {before: func(n *namespace) {
			n.apply(deployment("3", "app:1"))
			n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"replicas":5}}`)
		}, manifest: deployment("", "app:2"), removed: deployment("", "app:2")},
		"row 4, no other writer of replicas": {before: func(n *namespace) {
			n.apply(deployment("3", "app:1"))
		}, manifest: deployment("", "app:1"), removed: deployment("", "app:1")},
		"an autoscaler that never scaled": {before: func(n *namespace) {
			n.apply(deployment("3", "app:1"))
			n.kubectl("autoscale", "deployment", "web", "--min=3", "--max=20")
		}, manifest: deployment("5", "app:1"), removed: deployment("", "app:1")},
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

			twin.editLastApplied(cmp.Or(c.edit, "/^ *replicas:/d"))
			twin.apply(c.removed)

			with.settled()
			twin.settled()
			if diff := gocmp.Diff(stored(twin), stored(with)); diff != "" {
				t.Errorf("the object (-manual +handoff):\n%s", diff)
			}
		})
	}
}

// editLastApplied edits the last-applied configuration of the object web with a sed script.
func (n *namespace) editLastApplied(expression string) {
	n.Helper()
	was := n.object().GetAnnotations()[ownership.LastAppliedAnnotation]
	editor := n.file("editor", `sed -i '`+expression+`' "$1"`)
	n.must(n.runAs([]string{"KUBE_EDITOR=sh " + editor}, "", "apply", "edit-last-applied", "deployment/web"))
	if n.object().GetAnnotations()[ownership.LastAppliedAnnotation] == was {
		n.Fatalf("%s does not change last-applied", expression)
	}
}

// TestTheOracleOfServerSideApply verifies the same for server-side apply. For a field that only the manifest manages, no
// documented procedure leaves no trace: the transfer between managers
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership) gives it to a manager without a
// client, which conflicts with every later apply. The twin is therefore an object whose manifest never set replicas, as that
// page advises, scaled to the same count.
func TestTheOracleOfServerSideApply(t *testing.T) {
	t.Parallel()
	with, twin := newNamespace(t, "enforce"), newNamespace(t, "")
	with.applyServerSide(deployment("3", "app:1"))
	with.kubectl("autoscale", "deployment", "web", "--min=3", "--max=20")
	with.known(true)
	with.applyServerSide(deployment("", "app:2"))

	twin.applyServerSide(deployment("", "app:1"))
	twin.kubectl("scale", "deployment", "web", "--replicas=3")
	twin.kubectl("autoscale", "deployment", "web", "--min=3", "--max=20")
	twin.applyServerSide(deployment("", "app:2"))

	for _, n := range []*namespace{with, twin} {
		n.kubectl("patch", "hpa", "web", "-p", `{"spec":{"minReplicas":7}}`)
		n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
		n.settled()
	}
	if diff := gocmp.Diff(stored(twin), stored(with)); diff != "" {
		t.Errorf("the object (-manual +handoff):\n%s", diff)
	}
}

// stored returns the object web without the fields that differ between equal objects: identity, times, and versions. This
// includes the generation, because the manual procedure takes one more write.
func stored(n *namespace) map[string]any {
	n.Helper()
	o := n.object()
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "namespace", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", name)
	}
	// The controllers' entries for the status depend on when they last wrote it.
	entries := slices.DeleteFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "status" })
	for i := range entries {
		entries[i].Time = nil
	}
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int { // the API server orders them by time
		return strings.Compare(a.Manager+string(a.Operation)+a.Subresource, b.Manager+string(b.Operation)+b.Subresource)
	})
	o.SetManagedFields(entries)
	annotations := o.GetAnnotations()
	// The revision depends on timing: the Deployment controller may miss a template that is replaced soon.
	delete(annotations, "deployment.kubernetes.io/revision")
	for name, value := range annotations {
		annotations[name] = strings.ReplaceAll(value, n.name, "NAMESPACE")
	}
	o.SetAnnotations(annotations)
	// The number of created pods depends on the controller's timing.
	delete(o.Object, "status")
	return o.Object
}
