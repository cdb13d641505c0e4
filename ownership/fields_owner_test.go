package ownership_test

import (
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

func TestFieldsOwner(t *testing.T) {
	replicas := ownership.ObjectContext{Scale: fieldpath.MakePathOrDie("spec", "replicas")}
	targeted := ownership.ObjectContext{Scale: replicas.Scale, Autoscaler: "HorizontalPodAutoscaler/web"}
	everything := []ownership.Pattern{{fieldpath.MatchAnyPathElement()}}
	ofReplicas, err := ownership.ParseControllerFields(".spec.replicas")
	if err != nil {
		t.Fatal(err)
	}
	size := `{"f:spec":{"f:replicas":{}}}`
	for name, c := range map[string]fieldsCase{
		"the manifest's, client-side: the annotation declares it": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{"replicas":3}}`, entryOf(clientSide, "T", `{`+annotated+`,"f:spec":{"f:replicas":{}}}`)),
			want: []string{".spec.replicas=3 Manifest kubectl-client-side-apply T [kubectl-client-side-apply/Update] sets it"},
		},
		"the API server's, client-side: the applier manages it, its annotation lacks it": {
			live: liveWith(`,"spec":{"replicas":1}`, `{"spec":{}}`, entryOf(clientSide, "T", `{`+annotated+`,"f:spec":{"f:replicas":{}}}`)),
			want: []string{".spec.replicas=1 Default [kubectl-client-side-apply/Update]"},
		},
		"the manifest's, without an annotation": {
			live: liveWith(`,"spec":{"replicas":3}`, "", entryOf("helm/Update", "T", size)),
			want: []string{".spec.replicas=3 Manifest helm T [helm/Update]"},
		},
		"the manifest's, with an annotation of another applier": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{}}`, entryOf("helm/Update", "T", size)),
			want: []string{".spec.replicas=3 Manifest helm T [helm/Update]"},
		},
		"the manifest's, server-side": {
			live: liveWith(`,"spec":{"replicas":3}`, "", entryOf("anybody/Apply", "T", size)),
			want: []string{".spec.replicas=3 Manifest anybody T [anybody/Apply]"},
		},
		"a controller's, by a rule: its server-side apply sets nothing else": {
			rules: ofReplicas,
			live: liveWith(`,"spec":{"paused":true,"replicas":3}`, `{"spec":{"paused":true}}`, entryOf("operator/Apply", "T", size),
				entryOf(clientSide, "T", `{`+annotated+`,"f:spec":{"f:paused":{}}}`)),
			want: []string{
				".spec.paused=true Manifest kubectl-client-side-apply T [kubectl-client-side-apply/Update] sets it",
				".spec.replicas=3 Controller operator T [operator/Apply]",
			},
		},
		"the manifest's: the annotation declares it and no entry has it": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{"replicas":3}}`, entryOf("helm/Update", "T", `{}`)),
			want: []string{".spec.replicas=3 Manifest [] sets it"},
		},
		"nobody's": {
			live: liveWith(`,"spec":{"replicas":1}`, "", entryOf("helm/Update", "T", `{"f:spec":{".":{},"f:paused":{}}}`)),
			want: []string{".spec.replicas=1 Default []", ".spec.paused= Manifest helm T [helm/Update]"},
		},
		"a person's, over what the manifest declares": {
			live: liveWith(`,"spec":{"replicas":5}`, `{"spec":{"replicas":3}}`, entryOf("kubectl-patch/Update", "T", size)),
			want: []string{".spec.replicas=5 Imperative kubectl-patch T [kubectl-patch/Update] sets it to 3"},
		},
		"a person's, with the manifest's value": {
			live: liveWith(`,"spec":{"replicas":5}`, "", entryOf("helm/Apply", "T1", size), entryOf("kubectl-edit/Update", "T2", size)),
			want: []string{".spec.replicas=5 Imperative kubectl-edit T2 [kubectl-edit/Update helm/Apply]"},
		},
		"an unlisted client's, which counts as a person's": {
			live: liveWith(`,"spec":{"replicas":5}`, "", entryOf("operator/Update", "T", size)),
			want: []string{".spec.replicas=5 Other operator T [operator/Update]"},
		},
		"a controller's, by a rule": {
			rules: everything,
			live:  liveWith(`,"spec":{"replicas":5}`, "", entryOf("operator/Update", "T", size)),
			want:  []string{".spec.replicas=5 Controller operator T [operator/Update]"},
		},
		"a person's, although a rule gives it to controllers": {
			rules: everything,
			live:  liveWith(`,"spec":{"replicas":5}`, "", entryOf("kubectl-edit/Update", "T", size)),
			want:  []string{".spec.replicas=5 Imperative kubectl-edit T [kubectl-edit/Update]"},
		},
		"an autoscaler's, which targets the object; its entry has no time": {
			context: targeted,
			live: liveWith(`,"spec":{"replicas":7,"paused":true}`, `{"spec":{"replicas":3}}`,
				entryOf("kubectl/Apply", "T", size), entryOf("kube-controller-manager/Update/scale", "", size)),
			want: []string{
				".spec.replicas=7 Autoscaler HorizontalPodAutoscaler/web [kube-controller-manager/Update/scale kubectl/Apply] sets it to 3",
				".spec.paused=true Default []",
			},
		},
		"an autoscaler's, which has never scaled": {
			context: targeted,
			live:    liveWith(`,"spec":{"replicas":7}`, "", entryOf("helm/Update", "T", size)),
			want:    []string{".spec.replicas=7 Autoscaler HorizontalPodAutoscaler/web [helm/Update]"},
		},
		"an autoscaler's, by the list": {
			context: replicas,
			live:    liveWith(`,"spec":{"replicas":7}`, "", entryOf("helm/Update", "T", size), entryOf("keda/Update/scale", "", size)),
			want:    []string{".spec.replicas=7 Autoscaler keda [keda/Update/scale helm/Update]"},
		},
		"a user who scaled, without an autoscaler": {
			context: replicas,
			live:    liveWith(`,"spec":{"replicas":7}`, "", entryOf("kubectl/Update/scale", "", size)),
			want:    []string{".spec.replicas=7 Imperative kubectl [kubectl/Update/scale]"},
		},
		"null in the manifest": {
			live: liveWith(`,"spec":{"replicas":1}`, `{"spec":{"replicas":null}}`, entryOf(clientSide, "T", size)),
			want: []string{".spec.replicas=1 Manifest kubectl-client-side-apply T [kubectl-client-side-apply/Update] null"},
		},
	} {
		t.Run(name, c.run)
	}
}
