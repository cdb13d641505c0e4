package guard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// serverSide are the flags of kubectl apply for a forced server-side apply.
var serverSide = []string{"--server-side", "--force-conflicts"}

func TestAppliesKeepAutoscaledReplicas(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	argo, own := []string{"--field-manager=argocd-controller"}, []string{"--field-manager=ci"}
	for sentence, c := range map[string]struct {
		args     []string
		replicas string
	}{
		"client-side, sets replicas":                   {nil, "3"},
		"client-side, sets other replicas than before": {nil, "4"},
		"client-side, drops replicas":                  {nil, ""},
		"client-side, sets null":                       {nil, "null"},
		"server-side, sets replicas":                   {serverSide, "3"},
		"server-side, drops replicas":                  {serverSide, ""},
		"Argo CD, sets replicas":                       {argo, "3"},
		"Argo CD, drops replicas":                      {argo, ""},
		"a field manager that no list has":             {own, "3"},
		"a field manager that no list has, drops":      {own, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.apply(n.manifest("3", "app:1"), c.args...)
			n.scaled()
			for _, image := range []string{"app:1", "app:2", "app:2"} {
				if got := n.apply(n.manifest(c.replicas, image), c.args...); got != "7" {
					t.Fatalf("replicas after an apply of %s: got %s, want 7", image, got)
				}
			}
			if got := n.field(".spec.template.spec.containers[0].image"); got != "app:2" {
				t.Errorf("the guard must keep only replicas: got image %s, want app:2", got)
			}
		})
	}
}

func TestEveryKindIsGuarded(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	for kind, apiVersion := range map[string]string{"StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "ReplicationController": "v1"} {
		for side, args := range map[string][]string{"client": nil, "server": serverSide} {
			t.Run(kind+" by "+side+"-side apply", func(t *testing.T) {
				t.Parallel()
				n := newNamespace(t, "enforce")
				n.kind, n.apiVersion = kind, apiVersion
				n.apply(n.manifest("3", "app:1"), args...)
				n.scaled()
				for _, replicas := range []string{"3", ""} {
					if got := n.apply(n.manifest(replicas, "app:1"), args...); got != "7" {
						t.Errorf("replicas after an apply of %q: got %s, want 7", replicas, got)
					}
				}
			})
		}
	}
}

func TestImperativeCommandsPass(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	for sentence, write := range map[string]func(n *namespace) string{
		"kubectl scale": func(n *namespace) string {
			n.kubectl("scale", "deployment", "web", "--replicas=9")
			return n.field(".spec.replicas")
		},
		"kubectl patch": func(n *namespace) string {
			return n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"replicas":9}}`, printReplicas)
		},
		"kubectl edit": func(n *namespace) string {
			editor := []string{"KUBE_EDITOR=sed -i 's/^  replicas: 7/  replicas: 9/'"}
			edited := n.run(editor, "", "edit", "deployment", "web", "-oyaml") // kubectl edit supports no shorter output
			return map[bool]string{true: "9"}[strings.Contains(edited, "\n  replicas: 9\n")]
		},
		"kubectl replace": func(n *namespace) string {
			return n.replace(n.manifest("9", "app:2"))
		},
		"kubectl replace of a manifest without replicas": func(n *namespace) string {
			return map[string]string{"1": "9"}[n.replace(n.manifest("", "app:2"))]
		},
		"kubectl patch with an autoscaler's field manager": func(n *namespace) string {
			return n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"replicas":9}}`, printReplicas, "--field-manager=keda-operator")
		},
		"an update by an unknown client": func(n *namespace) string {
			return n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"replicas":9}}`, printReplicas, "--field-manager=operator")
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.apply(n.manifest("3", "app:1"))
			n.scaled()
			if got := write(n); got != "9" {
				t.Errorf("replicas: got %s, want 9", got)
			}
		})
	}
}

func TestKubectlSetImageKeepsReplicas(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(n.manifest("3", "app:1"))
	n.scaled()
	const both = "-ojsonpath={.spec.replicas} {.spec.template.spec.containers[0].image}"
	if got := n.kubectl("set", "image", "deployment/web", "app=app:2", both); got != "7 app:2" {
		t.Errorf("kubectl set image: got %s, want 7 app:2", got)
	}
}

func TestClientsWithoutAFieldManagerAreIdentifiedByManagedFields(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	for agent, want := range map[string]int64{"HashiCorp/1.0 Terraform/1.9": 7, "pulumi-kubernetes/4.0": 7, "operator/1.0": 9} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.apply(n.manifest("3", "app:1"))
			n.scaled()
			as, err := clientOf(agent)
			if err != nil {
				t.Fatal(err)
			}
			web := &unstructured.Unstructured{}
			web.SetAPIVersion(n.apiVersion)
			web.SetKind(n.kind)
			web.SetNamespace(n.name)
			web.SetName("web")
			patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"replicas":9}}`))
			if err := as.Patch(t.Context(), web, patch); err != nil {
				t.Fatal(err)
			}
			got, _, _ := unstructured.NestedInt64(web.Object, "spec", "replicas")
			if got != want {
				t.Errorf("replicas: got %d, want %d", got, want)
			}
		})
	}
}

// TestAutoscalersAreKnownByTheirWrites verifies which writes through /scale the guard keeps.
func TestAutoscalersAreKnownByTheirWrites(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	hpa := "kube-controller-manager"
	for sentence, c := range map[string]struct {
		scales []string // MANAGER REPLICAS
		want   string
	}{
		"the HorizontalPodAutoscaler controller":               {[]string{hpa + " 7"}, "7"},
		"a listed autoscaler":                                  {[]string{"keda 7"}, "7"},
		"down to the default":                                  {[]string{hpa + " 1"}, "1"},
		"kubectl scale":                                        {[]string{"kubectl 7"}, "3"},
		"an unknown client":                                    {[]string{"python-requests 7"}, "3"},
		"kubectl scale after an autoscaler":                    {[]string{hpa + " 7", "kubectl 8"}, "3"},
		"an autoscaler after kubectl scale":                    {[]string{"kubectl 8", hpa + " 7"}, "7"},
		"to 0, which leaves no entry":                          {[]string{hpa + " 7", "keda 0"}, "3"},
		"to 0 and 1, the default":                              {[]string{hpa + " 7", "keda 0", "keda 1"}, "3"},
		"to 0 and up again, by a manager that is not recorded": {[]string{hpa + " 7", "keda 0", "keda 1", hpa + " 8"}, "8"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.apply(n.manifest("3", "app:1"))
			n.eventually("the guard is in effect", n.inEffect)
			for _, scale := range c.scales {
				n.scale(scale)
			}
			for range 2 {
				if got := n.apply(n.manifest("3", "app:2")); got != c.want {
					t.Fatalf("replicas: got %s, want %s", got, c.want)
				}
			}
		})
	}
}

// scale writes replicas through /scale, as MANAGER REPLICAS.
func (n *namespace) scale(as string) {
	n.Helper()
	manager, replicas, _ := strings.Cut(as, " ")
	n.kubectl("patch", n.kind, "web", "--subresource=scale", "--type=merge", "--field-manager="+manager,
		"-p", `{"spec":{"replicas":`+replicas+`}}`)
}

func TestAnAutoscalerThatNeverScaledIsUnknown(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(n.manifest("3", "app:1"))
	n.kubectl("autoscale", n.kind, "web", "--min=3", "--max=20")
	n.eventually("the guard is in effect", n.inEffect)
	if got := n.apply(n.manifest("4", "app:1")); got != "4" {
		t.Errorf("replicas: got %s, want 4", got)
	}
}

func TestReplicasStayAfterTheAutoscalerIsDeletedUntilAnotherManagerWritesThem(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(n.manifest("3", "app:1"))
	n.scaled()
	n.kubectl("delete", "hpa", "web")
	if got := n.apply(n.manifest("3", "app:1")); got != "7" {
		t.Errorf("replicas: got %s, want 7", got)
	}
	n.kubectl("scale", n.kind, "web", "--replicas=5")
	if got := n.apply(n.manifest("3", "app:1")); got != "3" {
		t.Errorf("replicas after kubectl scale: got %s, want 3", got)
	}
}

// TestTheGuardRestoresTheEntryOfTheAutoscaler verifies what the guard stores besides replicas: the next apply and the webhook
// depend on it.
func TestTheGuardRestoresTheEntryOfTheAutoscaler(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	for side, args := range map[string][]string{"client": nil, "server": serverSide} {
		t.Run(side+"-side apply", func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.apply(n.manifest("3", "app:1"), args...)
			n.scaled()
			before := n.object()
			n.apply(n.manifest("3", "app:1"), args...)
			after := n.object()
			if diff := cmp.Diff(scaleEntries(before), scaleEntries(after)); diff != "" || len(scaleEntries(after)) != 1 {
				t.Errorf("the entries of /scale (-before +after):\n%s", diff)
			}
			if text, err := after.MarshalJSON(); err != nil || strings.Contains(string(text), "handoff") {
				t.Errorf("want no trace of the guard, got %s, error %v", text, err)
			}
		})
	}
}

// A server-side apply without force sets replicas that nobody manages, now and later: the guard must not make it a conflict.
func TestTheGuardCausesNoConflict(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(n.manifest("", "app:1"), "--server-side")
	n.eventually("the guard is in effect", n.inEffect)
	n.scale("keda 0")
	n.scale("keda 8")
	for _, want := range []string{"8", "5"} {
		if got := n.apply(n.manifest("5", "app:1"), "--server-side"); got != want {
			t.Errorf("replicas: got %s, want %s", got, want)
		}
	}
}

func scaleEntries(o *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "scale" })
}
