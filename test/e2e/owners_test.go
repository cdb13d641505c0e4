package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/ownership"
)

// owners reads an object with kubectl and returns the owners of its fields, by path, each as
// OWNER BY [MANAGERS] DECLARATION-OF-THE-ANNOTATION VALUE-OF-THE-ANNOTATION, with the prefix "gone" for managed fields without a value.
func (n *namespace) owners(args ...string) map[string]string {
	n.Helper()
	live, err := ownership.ParseObject([]byte(n.kubectl(append([]string{"get", "-o", "json"}, args...)...).stdout))
	if err != nil {
		n.Fatal(err)
	}
	fields, err := ownership.ObjectContext{
		Managers: config.Default().Managers(), Autoscaler: "HorizontalPodAutoscaler/web", Scale: fieldpath.MakePathOrDie("spec", "replicas"),
	}.Fields(live)
	if err != nil {
		n.Fatal(err)
	}
	owners := map[string]string{}
	for _, f := range fields {
		fieldManagers := make([]string, 0, len(f.Entries))
		for _, h := range f.Entries {
			fieldManagers = append(fieldManagers, strings.TrimSuffix(h.Manager+"/"+h.Operation+"/"+h.Subresource, "/"))
			if (f.Since == "") != (h.Time == "") && h.Manager == f.Owner.By {
				n.Errorf("%s: since %q, but the entry has %q", f.Path, f.Since, h.Time)
			}
		}
		line := fmt.Sprintf("%s %s %v %s %s", f.Owner.Kind, f.Owner.By, fieldManagers, f.Declared, f.DeclaredValue)
		if f.Value == nil {
			line = "gone " + line
		}
		owners[f.Path.String()] = strings.Join(strings.Fields(line), " ")
	}
	return owners
}

func (n *namespace) wantOwners(what string, got, want map[string]string) {
	n.Helper()
	for path := range want {
		if diff := cmp.Diff(want[path], got[path]); diff != "" {
			n.Errorf("%s, %s (-want +got):\n%s", what, path, diff)
		}
	}
}

// appliedBy runs a server-side apply as a controller does. kubectl would migrate the managedFields of client-side applies.
func (n *namespace) appliedBy(manager, manifest string) {
	n.Helper()
	web := &unstructured.Unstructured{}
	if err := web.UnmarshalJSON([]byte(manifest)); err != nil {
		n.Fatal(err)
	}
	web.SetName("web")
	web.SetNamespace(n.name)
	patch := client.RawPatch(types.ApplyPatchType, []byte(manifest))
	if err := cluster.client.Patch(n.Context(), web, patch, client.FieldOwner(manager), client.ForceOwnership); err != nil {
		n.Fatal(err)
	}
}

func TestOwnersOfAnObjectWithAllKindsOfManagers(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "")
	n.apply(deployment("3", "app:1"))
	n.kubectl("autoscale", "deployment", "web", "--min=7", "--max=20")
	n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
	n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"minReadySeconds":9}}`)
	n.kubectl("label", "deployment", "web", "tier=a")
	n.appliedBy("platform", `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"progressDeadlineSeconds":700}}`)
	n.settled()

	n.wantOwners("with managedFields", n.owners("deployment", "web", "--show-managed-fields"), map[string]string{
		".spec.replicas":                                   "Autoscaler HorizontalPodAutoscaler/web [kube-controller-manager/Update/scale] sets it 3",
		".spec.minReadySeconds":                            "Imperative kubectl-patch [kubectl-patch/Update] lacks it",
		".metadata.labels.tier":                            "Imperative kubectl-label [kubectl-label/Update] lacks it",
		".spec.progressDeadlineSeconds":                    "Manifest platform [platform/Apply] lacks it",
		".spec.revisionHistoryLimit":                       "Default [kubectl-client-side-apply/Update] lacks it",
		".spec.selector":                                   "Manifest kubectl-client-side-apply [kubectl-client-side-apply/Update] sets it",
		".status.replicas":                                 "Controller kube-controller-manager [kube-controller-manager/Update/status] lacks it",
		`.spec.template.spec.containers[name="app"].image`: "Manifest kubectl-client-side-apply [kubectl-client-side-apply/Update] sets it",
		`.spec.template.spec.containers[name="app"].resources.requests.cpu`: "Manifest kubectl-client-side-apply [kubectl-client-side-apply/Update] sets it",
		`.spec.template.spec.containers[name="app"].imagePullPolicy`:        "Default [kubectl-client-side-apply/Update] lacks it",
		`.status.conditions[type="Progressing"].status`:                     "Controller kube-controller-manager [kube-controller-manager/Update/status] lacks it",
		".metadata.annotations.deployment.kubernetes.io/revision":           "Other kube-controller-manager [kube-controller-manager/Update/status] lacks it",
	})
	n.wantOwners("without managedFields", n.owners("deployment", "web"), map[string]string{
		".spec.replicas":                          "Autoscaler HorizontalPodAutoscaler/web [] sets it 3",
		".spec.minReadySeconds":                   "Unknown [] lacks it",
		".status.replicas":                        "Unknown [] lacks it",
		".spec.selector.matchLabels.app":          "Manifest [] sets it",
		".spec.template.spec.containers[0].image": "Manifest [] sets it",
	})
	autoscaler := map[string]string{
		".spec.maxReplicas":                    "Imperative kubectl-autoscale [kubectl-autoscale/Update] lacks it",
		".spec.metrics":                        "gone Imperative kubectl-autoscale [kubectl-autoscale/Update] lacks it",
		".spec.targetCPUUtilizationPercentage": "Default [] lacks it",
	}
	if !cluster.Plane.KubectlSince(33) { // kubectl autoscale wrote autoscaling/v1, which has no metrics
		autoscaler[".spec.metrics"] = ""
		autoscaler[".spec.targetCPUUtilizationPercentage"] = autoscaler[".spec.maxReplicas"]
	}
	n.wantOwners("in version v1", n.owners("horizontalpodautoscalers.v1.autoscaling", "web", "--show-managed-fields"), autoscaler)
}
