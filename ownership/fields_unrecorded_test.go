package ownership_test

import (
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

func TestFieldsOwnerUnknown(t *testing.T) {
	size := `{"f:spec":{"f:replicas":{}}}`
	for name, c := range map[string]fieldsCase{
		"managedFields were taken away": {
			live: liveWith(`,"spec":{"replicas":3},"status":{"ready":1}`, ""),
			want: []string{".spec.replicas=3 Unknown []", ".status.ready=1 Unknown []"},
		},
		"managedFields were taken away, and the annotation declares the value": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{"replicas":3}}`),
			want: []string{".spec.replicas=3 Manifest [] sets it"},
		},
		"managedFields were taken away, and the annotation declares another value": {
			live: liveWith(`,"spec":{"replicas":5}`, `{"spec":{"replicas":3}}`),
			want: []string{".spec.replicas=5 Unknown [] sets it to 3"},
		},
		"managedFields were taken away, and an autoscaler targets the object": {
			context: ownership.ObjectContext{Scale: fieldpath.MakePathOrDie("spec", "replicas"), Autoscaler: "HPA web"},
			live:    liveWith(`,"spec":{"replicas":3}`, ""),
			want:    []string{".spec.replicas=3 Autoscaler HPA web []"},
		},
		"an empty list of managedFields is none": {
			live: `{"metadata":{"managedFields":[]},"spec":{"replicas":3}}`,
			want: []string{".spec.replicas=3 Unknown []"},
		},
		"only ancient changes": {
			live: liveWith(`,"spec":{"replicas":3}`, "", entryOf("ancient-changes/Update", "T", size)),
			want: []string{".spec.replicas=3 Unknown [ancient-changes/Update]"},
		},
		"only what was before the first apply": {
			live: liveWith(`,"spec":{"replicas":3}`, "", entryOf("before-first-apply/Update", "T", size)),
			want: []string{".spec.replicas=3 Unknown [before-first-apply/Update]"},
		},
		"what was before the first apply, and a person": {
			live: liveWith(`,"spec":{"replicas":3}`, "", entryOf("before-first-apply/Update", "T", size), entryOf("kubectl-edit/Update", "T2", size)),
			want: []string{".spec.replicas=3 Imperative kubectl-edit T2 [kubectl-edit/Update before-first-apply/Update]"},
		},
		"what was before the first apply, and the manifest declares it": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{"replicas":3}}`, entryOf("before-first-apply/Update", "T", size)),
			want: []string{".spec.replicas=3 Manifest [before-first-apply/Update] sets it"},
		},
	} {
		t.Run(name, c.run)
	}
}

func TestFieldsOwnerOfStatus(t *testing.T) {
	ready := `{"f:status":{"f:ready":{}}}`
	for name, c := range map[string]fieldsCase{
		"a controller": {
			live: liveWith(`,"status":{"ready":1,"seen":2}`, `{"status":{"ready":0}}`, entryOf("kube-controller-manager/Update/status", "T", ready)),
			want: []string{
				".status.ready=1 Controller kube-controller-manager T [kube-controller-manager/Update/status] sets it to 0",
				".status.seen=2 Default []",
			},
		},
		"a controller that applies, and another that writes the whole object": {
			live: liveWith(`,"status":{"ready":1}`, "", entryOf("helm/Update", "T1", ready), entryOf("agent/Apply/status", "T2", ready)),
			want: []string{".status.ready=1 Controller agent T2 [agent/Apply/status helm/Update]"},
		},
		"a person": {
			live: liveWith(`,"status":{"ready":1}`, "", entryOf("kubectl-edit/Update/status", "T", ready)),
			want: []string{".status.ready=1 Imperative kubectl-edit T [kubectl-edit/Update/status]"},
		},
		"without a status subresource, as any field": {
			live: liveWith(`,"status":{"ready":1}`, "", entryOf("operator/Update", "T", ready)),
			want: []string{".status.ready=1 Other operator T [operator/Update]"},
		},
		"a field that its writer manages outside of status is like any other": {
			live: liveWith(`,"spec":{"ready":1}`, "", entryOf("operator/Update/status", "T", `{"f:spec":{"f:ready":{}}}`)),
			want: []string{".spec.ready=1 Other operator T [operator/Update/status]"},
		},
	} {
		t.Run(name, c.run)
	}
}
