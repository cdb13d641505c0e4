package e2e_test

import (
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/objects"
)

const (
	hpa = "HorizontalPodAutoscaler/web"
	// The managers of the scale field, as fieldManagers has them.
	byAutoscaler = "kube-controller-manager/Update/scale"
	byClientSide = "kubectl-client-side-apply/Update"
	byServerSide = "kubectl/Apply"
)

// autoscaled are steps after an apply of three replicas, and an HPA whose controller has scaled to 7.
func autoscaled(steps ...step) scenario {
	return scenario{steps: append([]step{applies(deployment("3", "app:1")), autoscales("7").managers(byAutoscaler)}, steps...)}
}

// autoscales creates an HPA, whose controller scales to its minimum.
func autoscales(minimum string) step {
	return did(func(n *namespace) { n.Helper(); n.autoscale(minimum) })
}

// autoscalerDeleted deletes the HPA.
func autoscalerDeleted() step {
	return did(func(n *namespace) {
		n.Helper()
		n.kubectl("delete", "hpa", "web")
		n.known(false)
	})
}

// scaled is kubectl scale.
func scaled(replicas string) step { return runs("scale", "deployment", "web", "--replicas="+replicas) }

// edits is kubectl edit with a sed script.
func edits(script string) step {
	return step{do: func(s stage) result {
		s.Helper()
		editor := s.file("editor", "#!/bin/sh\nsed -i '"+script+"' \"$1\"\n")
		return s.must(s.runAs([]string{"KUBE_EDITOR=sh " + editor}, "", "edit", s.kind, "web"))
	}}
}

func replaces(manifest string) step {
	return step{do: func(s stage) result { s.Helper(); return s.replace(manifest) }}
}

func TestRowsOfTheDecisionTableClientSide(t *testing.T) {
	t.Parallel()
	first, dropped := applies(deployment("3", "app:1")), applies(deployment("", "app:1"))
	delayed := with("minReadySeconds: 5", deployment("3", "app:1"))
	const row9 = hpa + " owns .spec.replicas and may revert this change; change the autoscaler instead"
	play(t, map[string]scenario{
		"row 1": autoscaled(
			first.warns(keptReplicas(7, hpa)...).replicas(7).managers(byAutoscaler).omits("replicas").twice(),
			applies(deployment("3", "app:2")).replicas(7).managers(byAutoscaler).records("app:2").omits("replicas").twice(),
		),
		"row 2": autoscaled(
			dropped.warns("kept .spec.replicas=7, owned by "+hpa+"; no action needed").replicas(7).managers(byAutoscaler).omits("replicas"),
			unchanged(dropped).warns(),
		),
		"rows 1 and 2, an autoscaler that never scaled": {steps: []step{
			first, autoscales("3").managers(byClientSide),
			applies(deployment("5", "app:1")).replicas(3).managers(byClientSide).omits("replicas"),
			runs("annotate", "deployment", "web", "some=body"), // another entry, after which the applier's must not move
			unchanged(applies(deployment("5", "app:1"))),
			applies(deployment("", "app:2")).replicas(3),
		}},
		// KEDA names its HorizontalPodAutoscaler after the ScaledObject, and scales to zero and back by itself.
		"row 1, an autoscaler of KEDA": {steps: []step{
			first,
			did(func(n *namespace) {
				n.apply(objects.KEDAAutoscaler, "--server-side", "--field-manager=keda")
				n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
				n.known(true)
			}),
			applies(deployment("3", "app:2")).warns(keptReplicas(7, "HorizontalPodAutoscaler/keda-hpa-web")...).replicas(7),
			scaled("0"), first.replicas(0),
		}},
		"row 1, until the autoscaler is deleted": autoscaled(
			first, autoscalerDeleted(), first.warns().replicas(3).records(`"replicas":3`).managers(byClientSide),
		),
		"row 1, the live number has nothing to hand back": autoscaled(
			applies(deployment("7", "app:1")).replicas(7).warns(keptReplicas(7, hpa)[0]),
		),
		"row 3, kubectl scale": {steps: []step{
			first, scaled("7").managers("kubectl/Update/scale"), dropped.warns(scaled7).replicas(7).managers("kubectl/Update/scale").twice(),
		}},
		"row 3, kubectl patch": {steps: []step{
			first, patchedBy("kubectl-patch", `{"spec":{"replicas":7}}`).managers("kubectl-patch/Update"),
			dropped.warns(strings.Replace(scaled7, "kubectl", "kubectl-patch", 1)).replicas(7).managers("kubectl-patch/Update").twice(),
		}},
		"row 4":                       {steps: []step{applies(deployment("7", "app:1")), dropped.warns(dropped7).replicas(7).omits("replicas").twice()}},
		"row 5, the manifest's value": {steps: []step{applies(delayed), first.value(".spec.minReadySeconds", "").warns()}},
		"row 5, a user's value": {steps: []step{
			applies(delayed), patchedBy("kubectl-patch", `{"spec":{"minReadySeconds":9}}`),
			first.value(".spec.minReadySeconds", "").
				warns("removed .spec.minReadySeconds=9, set by kubectl-patch; run kubectl handoff release first to keep it"),
		}},
		"row 6, set imperatively": {steps: []step{
			first, scaled("5"), first.warns().replicas(3).managers(byClientSide).records(`"replicas":3`),
		}},
		"row 6, set by default":  {steps: []step{dropped, applies(deployment("4", "app:1")).replicas(4).records(`"replicas":4`)}},
		"row 9, kubectl patch":   autoscaled(patchedBy("kubectl-patch", `{"spec":{"replicas":9}}`).warns(row9).replicas(9)),
		"row 9, kubectl edit":    autoscaled(edits("s/replicas: 7/replicas: 9/").warns(row9).replicas(9)),
		"row 9, kubectl replace": autoscaled(replaces(deployment("9", "app:1")).warns(row9).replicas(9)),
		"row 10":                 autoscaled(patchedBy("somebody-else", `{"spec":{"replicas":9}}`).warns().replicas(9)),
		"row 11":                 autoscaled(scaled("11").warns().replicas(11)),
	})
}

func TestRowsOfTheDecisionTableServerSide(t *testing.T) {
	t.Parallel()
	first, dropped := applies(deployment("3", "app:1")), applies(deployment("", "app:1"))
	all := map[string]scenario{
		"row 2, an autoscaler that never scaled": {steps: []step{
			first, autoscales("3").managers(byServerSide),
			// As in live: another manager would make the next apply conflict.
			applies(deployment("5", "app:1")).replicas(3).managers(byServerSide),
			unchanged(withoutForce(deployment("5", "app:1"))),
			dropped.replicas(3).managers().twice(), // as if the manifest had never set it
			runs("patch", "hpa", "web", "-p", `{"spec":{"minReplicas":7}}`),
			scalesTo(7),
			applies(deployment("5", "app:1")).replicas(7),
		}},
		"row 2, replicas set again do not conflict with handoff": {steps: []step{
			withoutForce(deployment("3", "app:1")), autoscales("3"), withoutForce(deployment("", "app:1")).replicas(3),
			autoscalerDeleted(), withoutForce(deployment("5", "app:1")).replicas(5).managers(byServerSide),
		}},
		"row 4": {steps: []step{
			applies(deployment("7", "app:1")), dropped.warns(dropped7).replicas(7).managers(), unchanged(dropped).warns(),
		}},
		"rows 3 and 6": {steps: []step{
			first, scaled("5"),
			dropped.replicas(5), // without handoff's help in server-side apply
			first.replicas(3).managers(byServerSide),
		}},
		"without force, the API server's conflict": {steps: []step{
			withoutForce(deployment("3", "app:1")), autoscales("7"),
			did(func(n *namespace) {
				r := n.run(deployment("3", "app:1"), "apply", "-f", "-", "--server-side")
				if r.Err == nil || !strings.Contains(r.Stderr, `conflict with "kube-controller-manager"`) {
					n.Errorf("want the API server's own conflict, got %v: %s", r.Err, r.Stderr)
				}
			}).replicas(7),
		}},
	}
	for _, manager := range []string{"kubectl", "kustomize-controller", "argocd-controller", "helm", "deploy-bot"} {
		as := "--field-manager=" + manager
		all["row 1, "+manager] = scenario{steps: []step{
			applies(deployment("3", "app:1"), as), autoscales("7").managers(byAutoscaler),
			applies(deployment("3", "app:1"), as).warns(keptReplicas(7, hpa)...).replicas(7).managers(byAutoscaler).twice(),
			applies(deployment("3", "app:2"), as).replicas(7).managers(byAutoscaler),
			unchanged(applies(deployment("", "app:2"), as)),
		}}
	}
	play(t, all, serverSide()...)
}

// withoutForce is a server-side apply that fails if it conflicts.
func withoutForce(manifest string) step {
	return step{do: func(s stage) result { s.Helper(); return s.apply(manifest, "--server-side") }}
}

func TestAManifestMovesFromClientSideToServerSideApply(t *testing.T) {
	t.Parallel()
	first := applies(deployment("3", "app:1"))
	play(t, map[string]scenario{
		"after the autoscaler has scaled": autoscaled(
			applies(deployment("3", "app:1"), serverSide()...).replicas(7).managers(byAutoscaler).twice(),
		),
		"with an autoscaler that never scaled": {steps: []step{
			first, autoscales("3"),
			withoutForce(deployment("5", "app:1")).replicas(3), // kubectl migrates the managedFields: no conflict
			withoutForce(deployment("5", "app:1")).replicas(3).managers(byServerSide),
			did(func(n *namespace) {
				for _, e := range n.object().GetManagedFields() {
					if e.Manager == "kubectl-client-side-apply" && e.Operation == "Update" {
						n.Errorf("kubectl's client-side entry still exists: %s", e.FieldsV1)
					}
				}
			}),
		}},
		"without an autoscaler": {steps: []step{first, withoutForce(deployment("4", "app:1")).replicas(4).managers(byServerSide)}},
	})
}

// TestRow12 verifies that a workload that is deleted and applied again starts at the autoscaler's count.
func TestRow12(t *testing.T) {
	t.Parallel()
	deleted := runs("delete", "deployment", "web")
	countKnown := untilDryRun(deployment("3", "app:1"), ".spec.replicas", "7")
	starts := func(manifest, remedy string) scenario {
		return autoscaled(deleted, countKnown,
			applies(manifest).warns("started with .spec.replicas=7, owned by "+hpa+"; "+remedy).replicas(7).omits("replicas"),
			did((*namespace).settled), unchanged(applies(manifest)),
		)
	}
	playBy(t, map[string]applier{"client-side": {}, "server-side": {args: []string{"--server-side"}}}, map[string]scenario{
		"the manifest sets less":    starts(deployment("3", "app:1"), "remove it from the manifest"),
		"the manifest sets nothing": starts(deployment("", "app:1"), "no action needed"),
		"the manifest sets more":    autoscaled(deleted, countKnown, applies(deployment("9", "app:1")).warns().replicas(9)),
	})
	play(t, map[string]scenario{
		"Helm 3, which does not record what its chart sets": autoscaled(deleted, countKnown, writes(deployment("", "app:1"), "create", "--field-manager=helm").
			warns("started with .spec.replicas=7, owned by "+hpa+"; remove it if the manifest sets it").replicas(7)),
		"the manifest switches the workload off": autoscaled(deleted, applies(deployment("0", "app:1")).warns().replicas(0)),
		"without an autoscaler":                  {steps: []step{applies(deployment("3", "app:1")).replicas(3)}},
		"kubectl create, which is no apply": autoscaled(deleted, did(func(n *namespace) {
			r := n.must(n.run(deployment("3", "app:1"), "create", "-f", "-", "-o", "jsonpath={.spec.replicas}"))
			expect.Equal(n, "replicas of kubectl create", "3", r.Stdout)
		})),
	})
}
