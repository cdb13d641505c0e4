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
	ruledApp := func(manifest string) string { return ruled(".spec.template.spec.containers[*].resources", manifest) }
	resized := func(n *namespace) {
		n.apply(ruledApp(deployment("3", "app:1")))
		n.kubectl("patch", "deployment", "web", "--field-manager=vpa", "-p", resources)
	}
	waiting := strings.Replace(deployment("3", "app:1"), "spec:", "spec:\n  minReadySeconds: 5", 1)
	for name, c := range map[string]struct {
		before   func(*namespace)
		manifest string // applied with handoff
		let      string // the manifest that has let go, applied by the manual procedure
		edit     string // for sed: what lets go of the field in last-applied, by default of replicas
	}{
		"row 1 of a field that a rule gives to controllers": {
			before: resized, manifest: ruledApp(deployment("3", "app:2")),
			let:  ruledApp(withoutResources(deployment("3", "app:2"))),
			edit: "/resources:$/d; /requests:/d; /cpu: 10m/d",
		},
		"row 2 of a field that a rule gives to controllers": {
			before: resized, manifest: ruledApp(withoutResources(deployment("3", "app:2"))),
			let:  ruledApp(withoutResources(deployment("3", "app:2"))),
			edit: "/resources:$/d; /requests:/d; /cpu: 10m/d",
		},
		"row 3 of any field": {
			before: func(n *namespace) {
				n.apply(waiting)
				n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"minReadySeconds":9}}`)
			},
			manifest: deployment("3", "app:2"), let: deployment("3", "app:2"), edit: "/minReadySeconds/d",
		},
		"row 1, the manifest still sets replicas":         {before: autoscaled, manifest: deployment("3", "app:1"), let: deployment("", "app:1")},
		"row 1, and changes its image":                    {before: autoscaled, manifest: deployment("3", "app:2"), let: deployment("", "app:2")},
		"row 1, and replicas are what they are by chance": {before: autoscaled, manifest: deployment("7", "app:2"), let: deployment("", "app:2")},
		"row 2, the manifest lets go":                     {before: autoscaled, manifest: deployment("", "app:1"), let: deployment("", "app:1")},
		"row 2, and changes its image":                    {before: autoscaled, manifest: deployment("", "app:2"), let: deployment("", "app:2")},
		"row 8, the manifest says null":                   {before: autoscaled, manifest: deployment("null", "app:1"), let: deployment("", "app:1")},
		"row 3, a person has scaled": {before: func(n *namespace) {
			n.apply(deployment("3", "app:1"))
			n.kubectl("scale", "deployment", "web", "--replicas=5")
		}, manifest: deployment("", "app:1"), let: deployment("", "app:1")},
		"row 3, a person has patched": {before: func(n *namespace) {
			n.apply(deployment("3", "app:1"))
			n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"replicas":5}}`)
		}, manifest: deployment("", "app:2"), let: deployment("", "app:2")},
		"row 4, nobody else wrote replicas": {before: func(n *namespace) {
			n.apply(deployment("3", "app:1"))
		}, manifest: deployment("", "app:1"), let: deployment("", "app:1")},
		"an autoscaler that never had to scale": {before: func(n *namespace) {
			n.apply(deployment("3", "app:1"))
			n.kubectl("autoscale", "deployment", "web", "--min=3", "--max=20")
		}, manifest: deployment("5", "app:1"), let: deployment("", "app:1")},
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
			twin.apply(c.let)

			with.settled()
			twin.settled()
			if diff := gocmp.Diff(stored(twin), stored(with)); diff != "" {
				t.Errorf("the object (-by hand +by handoff):\n%s", diff)
			}
		})
	}
}

// editLastApplied edits what the object web was last applied with, by an expression for sed.
func (n *namespace) editLastApplied(expression string) {
	n.Helper()
	was := n.object().GetAnnotations()[ownership.LastAppliedAnnotation]
	editor := n.file("editor", `sed -i '`+expression+`' "$1"`)
	n.must(n.runAs([]string{"KUBE_EDITOR=sh " + editor}, "", "apply", "edit-last-applied", "deployment/web"))
	if n.object().GetAnnotations()[ownership.LastAppliedAnnotation] == was {
		n.Fatalf("%s leaves last-applied as it is", expression)
	}
}

// TestTheOracleOfServerSideApply verifies the same for server-side apply. A field that a manifest drops and nobody else
// claims has no documented procedure that leaves no trace: the transfer between managers
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership) gives it to a manager that
// nobody is, and that conflicts with every later apply. So the twin is an object whose manifest never set replicas, as that
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
	// What the controllers claim of the status is as it was when they last looked.
	entries := slices.DeleteFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "status" })
	for i := range entries {
		entries[i].Time = nil
	}
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int { // the API server orders them by time
		return strings.Compare(a.Manager+string(a.Operation)+a.Subresource, b.Manager+string(b.Operation)+b.Subresource)
	})
	o.SetManagedFields(entries)
	annotations := o.GetAnnotations()
	// How many templates the Deployment controller has seen is its pace: it may miss one that is soon replaced.
	delete(annotations, "deployment.kubernetes.io/revision")
	for name, value := range annotations {
		annotations[name] = strings.ReplaceAll(value, n.name, "NAMESPACE")
	}
	o.SetAnnotations(annotations)
	// Which pods a replica set has made so far is its controller's pace, and not of anybody's writing.
	delete(o.Object, "status")
	return o.Object
}
