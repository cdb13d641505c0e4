package e2e_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestTheOracle verifies that handoff stores the same object as the documented manual procedure on a twin in a namespace without
// handoff: remove the field from the annotation with kubectl apply edit-last-applied, remove the field from the manifest, and
// apply the manifest
// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#how-to-change-ownership-of-a-field).
func TestTheOracle(t *testing.T) {
	t.Parallel()
	first := applies(deployment("3", "app:1"))
	ruledApp := func(manifest string) string { return ruled(".spec.template.spec.containers[*].resources", manifest) }
	scaledTo7, resized := []step{first, idlesAt(7)}, []step{applies(ruledApp(deployment("3", "app:1"))), resizedByVPA()}
	patched := func(spec string) step { return patchedBy("kubectl-patch", `{"spec":{`+spec+`}}`) }
	const cpuLines = "/resources:$/d; /requests:/d; /cpu: 10m/d"
	for name, c := range map[string]struct {
		before   []step
		manifest string // applied with handoff
		removed  string // the manifest without the field, applied in the manual procedure
		edit     string // sed script that removes the field from last-applied; default: replicas
	}{
		"row 1, a field of a controller rule": {resized, ruledApp(deployment("3", "app:2")), ruledApp(withoutResources(deployment("3", "app:2"))), cpuLines},
		"row 2, a field of a controller rule": {
			resized, ruledApp(withoutResources(deployment("3", "app:2"))), ruledApp(withoutResources(deployment("3", "app:2"))), cpuLines,
		},
		"row 3, a unit": {
			[]step{applies(with("paused: false", deployment("3", "app:1"))), patched(`"paused":true`)}, deployment("3", "app:2"), deployment("3", "app:2"), "/paused/d",
		},
		"row 1, the manifest still sets replicas":    {scaledTo7, deployment("3", "app:1"), deployment("", "app:1"), ""},
		"row 1, the manifest changes the image":      {scaledTo7, deployment("3", "app:2"), deployment("", "app:2"), ""},
		"row 1, the manifest sets the live replicas": {scaledTo7, deployment("7", "app:2"), deployment("", "app:2"), ""},
		"row 2, the manifest does not set replicas":  {scaledTo7, deployment("", "app:1"), deployment("", "app:1"), ""},
		"row 2, the manifest changes the image":      {scaledTo7, deployment("", "app:2"), deployment("", "app:2"), ""},
		"row 8, the manifest sets null":              {scaledTo7, deployment("null", "app:1"), deployment("", "app:1"), ""},
		"row 3, after kubectl scale":                 {[]step{first, scaled("5")}, deployment("", "app:1"), deployment("", "app:1"), ""},
		"row 3, after kubectl patch":                 {[]step{first, patched(`"replicas":5`)}, deployment("", "app:2"), deployment("", "app:2"), ""},
		"row 4, no other writer of replicas":         {[]step{first}, deployment("", "app:1"), deployment("", "app:1"), ""},
		"an autoscaler that never scaled": {
			[]step{first, runs("autoscale", "deployment", "web", "--min=3", "--max=20")}, deployment("5", "app:1"), deployment("", "app:1"), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var manual, with map[string]any
			stores := func(to *map[string]any) func(stage, result) {
				return func(s stage, _ result) { s.settled(); *to = stored(s.namespace) }
			}
			scenario{mode: without, steps: append(slices.Clone(c.before),
				did(func(n *namespace) { n.editLastApplied(cmp.Or(c.edit, "/^ *replicas:/d")) }), applies(c.removed).check(stores(&manual)),
			)}.play(t, applier{})
			scenario{steps: append(slices.Clone(c.before),
				did(func(n *namespace) {
					if n.run("", "get", "hpa", "web").Err == nil {
						n.known(true)
					}
				}), applies(c.manifest).check(stores(&with)),
			)}.play(t, applier{})
			expect.Equal(t, "the object of the manual procedure and of handoff", manual, with)
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
	var twin, with map[string]any
	then := func(to *map[string]any) step { // the autoscaler scales later
		return runs("patch", "hpa", "web", "-p", `{"spec":{"minReplicas":7}}`).check(func(s stage, _ result) {
			scalesTo(7).do(s)
			s.settled()
			*to = stored(s.namespace)
		})
	}
	autoscale := runs("autoscale", "deployment", "web", "--min=3", "--max=20")
	scenario{steps: []step{
		applies(deployment("3", "app:1")), autoscale, knows(true), applies(deployment("", "app:2")), then(&with),
	}}.play(t, applier{args: serverSide()})
	scenario{mode: without, steps: []step{
		applies(deployment("", "app:1")), scaled("3"), autoscale, applies(deployment("", "app:2")), then(&twin),
	}}.play(t, applier{args: serverSide()})
	expect.Equal(t, "the object of the manual procedure and of handoff", twin, with)
}

// stored returns the object web without the fields that differ between equal objects: identity, times, and versions. This
// includes the generation, because the manual procedure takes one more write.
func stored(n *namespace) map[string]any {
	n.Helper()
	return withoutIdentity(n.object())
}

// withoutIdentity returns an object without them.
func withoutIdentity(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	namespace := o.GetNamespace()
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
		annotations[name] = strings.ReplaceAll(value, namespace, "NAMESPACE")
	}
	o.SetAnnotations(annotations)
	// The number of created pods depends on the controller's timing.
	delete(o.Object, "status")
	return o.Object
}
