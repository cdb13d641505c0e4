package e2e_test

import (
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
)

// with returns a Deployment with a line of its spec.
func with(line, manifest string) string {
	return strings.Replace(manifest, "spec:\n", "spec:\n  "+line+"\n", 1)
}

const handBack = "to hand replicas back to the manifest, apply again after deleting the autoscaler"

// TestAControllerThatScalesToZeroStaysTheOwner verifies a rule on the scale field. A write of 0 through /scale removes the
// controller's managedFields entry, and its later writes add none.
func TestAControllerThatScalesToZeroStaysTheOwner(t *testing.T) {
	t.Parallel()
	manifest := func(replicas, image string) string { return ruled(".spec.replicas", deployment(replicas, image)) }
	playBy(t, bothSides(), map[string]scenario{
		"to 0, and later to 6": {steps: []step{
			applies(manifest("3", "app:1")),
			scaledBy("my-operator", 8),
			applies(manifest("3", "app:1")).replicas(8).says("kept .spec.replicas=8, owned by my-operator"),
			scaledBy("my-operator", 0),
			applies(manifest("3", "app:2")).replicas(0).twice(),
			scaledBy("my-operator", 6),
			applies(manifest("3", "app:3")).replicas(6).twice(),
			applies(manifest("", "app:3")).replicas(6),
		}},
		"to 0, before the first apply after it": {steps: []step{
			applies(manifest("3", "app:1")),
			scaledBy("my-operator", 0),
			scaledBy("my-operator", 6),
			applies(manifest("3", "app:2")).replicas(6),
		}},
		"a default is no controller's": {steps: []step{
			applies(manifest("", "app:1")),
			applies(manifest("3", "app:1")).replicas(3).warns().twice(),
			applies(manifest("4", "app:1")).replicas(4).warns(),
		}},
		"a user's value is no controller's": {steps: []step{
			applies(manifest("3", "app:1")),
			scaledBy("my-operator", 8),
			applies(manifest("3", "app:1")).replicas(8),
			patchedBy("kubectl-patch", `{"spec":{"replicas":5}}`),
			applies(manifest("3", "app:1")).replicas(3).warns(),
		}},
	})
}

// TestAPipelineBesideADeveloper verifies that a manager that manages most of what last-applied declares is an applier, even if
// another manager was the last to write the annotation.
func TestAPipelineBesideADeveloper(t *testing.T) {
	t.Parallel()
	const ci = "--field-manager=ci"
	play(t, map[string]scenario{
		"with an autoscaler": {steps: []step{
			applies(deployment("3", "app:1"), ci), autoscaledTo(7), applies(deployment("3", "app:2")).replicas(7),
			applies(deployment("3", "app:1"), ci).replicas(7), applies(deployment("4", "app:3"), ci).replicas(7),
			applies(deployment("", "app:3"), ci).replicas(7),
		}},
		"without an autoscaler, replicas dropped": {steps: []step{
			applies(deployment("3", "app:1"), ci), applies(deployment("3", "app:2")), scaled("7"), applies(deployment("", "app:1"), ci).replicas(7),
		}},
	})
}

const (
	toOne    = ".spec.replicas goes from 7 to 1; if the manifest only dropped it, use kubectl scale to restore it"
	dropped7 = "kept .spec.replicas=7, no longer in the manifest; use an HPA or kubectl scale"
	scaled7  = "kept .spec.replicas=7, set by kubectl and no longer in the manifest; use an HPA or kubectl scale"
)

// TestReplicasLeftEmpty verifies what a server-side apply does with a template that renders nothing after "replicas:". The scenarios of
// test/sequences have client-side applies.
func TestReplicasLeftEmpty(t *testing.T) {
	t.Parallel()
	play(t, map[string]scenario{
		"null cannot be told from 1": {steps: []step{applies(deployment("7", "app:1")), applies(deployment("null", "app:1")).replicas(1).warns(toOne)}},
		"1":                          {steps: []step{applies(deployment("7", "app:1")), applies(deployment("1", "app:1")).replicas(1).warns(toOne)}},
		"null of an autoscaler":      {steps: []step{applies(deployment("3", "app:1")), autoscaledTo(7), applies(deployment("null", "app:1")).replicas(7)}},
	}, serverSide()...)
}

// TestAServerSideControllerOfTheObjectsRule verifies that a server-side apply of ruled fields alone is a controller's.
func TestAServerSideControllerOfTheObjectsRule(t *testing.T) {
	t.Parallel()
	const path = ".spec.minReadySeconds"
	manifest := func(seconds string) string {
		if seconds == "" {
			return ruled(path, deployment("3", "app:1"))
		}
		return ruled(path, with("minReadySeconds: "+seconds, deployment("3", "app:1")))
	}
	setBy := func(manager, fields string) step {
		return did(func(n *namespace) {
			n.appliedBy(manager, `{"apiVersion":"apps/v1","kind":"Deployment","spec":{`+fields+`}}`)
		})
	}
	managers := fieldpath.MakePathOrDie("spec", "minReadySeconds")
	playBy(t, bothSides(), map[string]scenario{
		"of a field": {steps: []step{
			applies(manifest("5")),
			setBy("tuner", `"minReadySeconds":9`),
			applies(manifest("5")).value(path, "9").says("kept .spec.minReadySeconds=9, owned by tuner").
				managedBy(managers, "tuner/Apply").twice(),
			setBy("tuner", `"minReadySeconds":12`).value(path, "12"),
			applies(manifest("6")).value(path, "12"),
			applies(manifest("")).value(path, "12").managedBy(managers, "tuner/Apply"),
		}},
		"of the scale field": {steps: []step{
			applies(ruled(".spec.replicas", deployment("3", "app:1"))),
			setBy("tuner", `"replicas":9`),
			applies(ruled(".spec.replicas", deployment("3", "app:1"))).replicas(9).says("kept .spec.replicas=9, owned by tuner").twice(),
			setBy("tuner", `"replicas":0`).replicas(0),
			applies(ruled(".spec.replicas", deployment("3", "app:2"))).replicas(0),
		}},
		"a listed applier is none": {steps: []step{
			applies(manifest("5")),
			setBy("kustomize-controller", `"minReadySeconds":9`),
			applies(manifest("5")).value(path, "5"),
		}},
		"a manager that applies another field is none": {steps: []step{
			applies(manifest("5")),
			setBy("tuner", `"minReadySeconds":9,"revisionHistoryLimit":3`),
			applies(manifest("5")).value(path, "5"),
		}},
	})
}

func TestAScalerThatIsBeingDeletedOwnsNothing(t *testing.T) {
	t.Parallel()
	withScalers(t)
	finalized := strings.Replace(scaledObject, "{name: web}", "{name: web, finalizers: [finalizer.keda.sh/none]}", 1)
	playBy(t, bothSides(), map[string]scenario{
		"a ScaledObject with a finalizer": {steps: []step{
			applies(deployment("3", "app:1")),
			did(func(n *namespace) { n.apply(finalized) }),
			knows(true),
			scaledBy("keda-operator", 7),
			applies(deployment("3", "app:1")).replicas(7),
			runs("delete", "scaledobject", "web", "--wait=false"),
			knows(false),
			applies(deployment("3", "app:2")).replicas(3).warns(),
			runs("patch", "scaledobject", "web", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`),
		}},
		"an HPA with a finalizer": {steps: []step{
			applies(deployment("3", "app:1")),
			autoscaledTo(7),
			runs("patch", "hpa", "web", "--type=merge", "-p", `{"metadata":{"finalizers":["e2e.example.com/none"]}}`),
			runs("delete", "hpa", "web", "--wait=false"),
			knows(false),
			applies(deployment("3", "app:2")).replicas(3).warns(),
			runs("patch", "hpa", "web", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`),
		}},
	})
}

// TestKubectlDiffShowsNoRemovalThatAnApplyKeeps verifies diffs, which do not send a new annotation.
func TestKubectlDiffShowsNoRemovalThatAnApplyKeeps(t *testing.T) {
	t.Parallel()
	manifest := deployment("", "app:1")
	unchanged := step{do: func(s stage) result {
		s.Helper()
		removal := regexp.MustCompile(`(?m)^[-+] +(replicas|paused):`)
		for tries := 1; ; tries++ {
			r := s.run(manifest, append([]string{"diff", "-f", "-"}, s.args...)...)
			if !removal.MatchString(r.Stdout) {
				expect.Equal(s, "kubectl diff fails: "+r.Stderr, false, r.Err != nil && r.Stdout == "")
				return r
			}
			if tries == 5 { // a controller may have changed status.replicas while kubectl ran
				s.Errorf("kubectl diff shows a removal:\n%s", r.Stdout)
				return r
			}
		}
	}}
	// kubectl diff sends no manifest, so that replicas that only the manifest sets look like a new number.
	warned := step{do: func(s stage) result {
		s.Helper()
		if len(s.args) > 0 {
			return unchanged.do(s)
		}
		r := s.run(manifest, "diff", "-f", "-")
		want := []string{".spec.replicas shows 1; if the manifest only dropped it, kubectl apply keeps 7"}
		expect.Equal(s, "warnings", want, r.Warnings())
		return r
	}}
	playBy(t, bothSides(), map[string]scenario{
		"row 2": {steps: []step{applies(deployment("3", "app:1")), autoscaledTo(7), unchanged, applies(manifest).replicas(7)}},
		"row 3": {steps: []step{
			applies(deployment("3", "app:1")), runs("scale", "deployment", "web", "--replicas=7"), warned,
			applies(manifest).replicas(7),
		}},
		"row 4": {steps: []step{applies(deployment("7", "app:1")), warned, applies(manifest).replicas(7)}},
	})
	t.Run("a unit", func(t *testing.T) {
		t.Parallel()
		play(t, map[string]scenario{
			"row 3": {steps: []step{
				applies(with("paused: false", manifest)), patchedBy("kubectl-patch", `{"spec":{"paused":true}}`), unchanged,
				applies(manifest).value(".spec.paused", "true"),
			}},
		})
	})
}

func TestWarningsOfRemovedFieldsAreTrueAndHelp(t *testing.T) {
	t.Parallel()
	service := func(lines string) string {
		return "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  type: NodePort\n" + lines
	}
	label := func(pair string) step { return runs("label", "--overwrite", "deployment", "web", pair) }
	plain := deployment("3", "app:1")
	tuned := ruled(".spec.template.spec.containers[*].resources.limits.cpu", plain)
	labeled, secret := applies(withMetadata("labels: {team: a}", plain)), "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\n"
	accounts := strings.Replace(secret, "Secret", "ConfigMap", 1) + "data: {serviceAccount: a"
	play(t, map[string]scenario{
		"a label that a person added, and all labels of the manifest go": {steps: []step{
			labeled, label("extra=x"),
			applies(plain).warns("removed .metadata.labels.extra=x, set by kubectl-label; set it in the manifest to keep it"),
		}},
		"handoff's own label, which a person set": {steps: []step{
			labeled, label(optin.Label + "=enforce"),
			applies(plain).warns("removed .metadata.labels.ownership-handoff.io/mode, set by kubectl-label; set it in the manifest to keep it"),
		}},
		"handoff's own annotation, which a person changed": {steps: []step{
			applies(ruled(".spec.paused", plain)),
			runs("annotate", "--overwrite", "deployment", "web", "ownership-handoff.io/controller-fields=.spec.minReadySeconds"),
			applies(plain).value(`.metadata.annotations.ownership-handoff\.io/controller-fields`, ""),
		}},
		"a field that is defaulted again, because the manifest drops its parent": {steps: []step{
			applies(with("strategy: {type: RollingUpdate}", plain)),
			patchedBy("kubectl-patch", `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":5}}}}`),
			applies(plain).warns("removed .spec.strategy.rollingUpdate.maxSurge=5, set by kubectl-patch; set it in the manifest to keep it"),
		}},
		"resources that kubectl create has left empty, and in which only the manifest and a controller have set values": {steps: []step{
			writes(withoutResources(tuned), "create"), applies(tuned),
			runs("patch", "deployment", "web", "--field-manager=my-operator", "-p",
				`{"spec":{"template":{"spec":{"containers":[{"name":"app","resources":{"limits":{"cpu":"1"}}}]}}}}`),
			applies(withoutResources(tuned)).value(".spec.template.spec.containers[0].resources", `{"limits":{"cpu":"1"}}`).
				warns(`kept .spec.template.spec.containers[name="app"].resources.limits.cpu=1, owned by my-operator; no action needed`),
		}},
		"a key of a Secret that the manifest sets in stringData": {steps: []step{
			applies(secret + "data: {pw: YQ==}\n"),
			runs("patch", "secret", "web", "--type=merge", "-p", `{"stringData":{"pw":"b"}}`),
			applies(secret + "stringData: {pw: c}\n").warns(),
		}},
		"a key of a Secret that a controller has written, and that a server-side apply sets in stringData": {kind: "secret", ruled: true, steps: []step{
			writes(secret+"data: {a: YQ==}\n", "apply", "--server-side"),
			runs("patch", "secret", "web", "--field-manager=my-operator", "--type=merge", "-p", `{"data":{"pw":"Yg=="}}`),
			writes(secret+"stringData: {pw: c}\n", "apply", "--server-side").value(".data.pw", "Yg==").
				warns("kept .data.pw, owned by my-operator; remove it from the manifest"),
		}},
		"a key of a Secret that the base sets in stringData, and a client that replaces the object drops": {kind: "secret", steps: []step{
			writes(secret+"stringData: {a: b, pw: c}\n", "create", "--save-config"),
			writes(secret+"stringData: {a: b}\n", "replace", "--save-config", "--field-manager=kubectl-client-side-apply").warns(),
		}},
		"a key that is named as a pod's service account, but is not": {kind: "configmap", steps: []step{
			applies(accounts + ", serviceAccountName: b}\n"),
			patchedBy("kubectl-patch", `{"data":{"serviceAccountName":"c"}}`),
			applies(accounts+"}\n").value(".data.serviceAccountName", "c").warns("kept .data.serviceAccountName=c, set by kubectl-patch and no longer in the manifest"),
		}},
		"a Service's port, which the API server restores": {steps: []step{
			applies(service("  ports: [{port: 80, nodePort: 30123}]\n")),
			runs("patch", "service", "web", "-p", `{"spec":{"ports":[{"port":80,"nodePort":30124}]}}`),
			applies(service("  ports: [{port: 80}]\n")).warns(),
		}},
	})
}

// TestAUnitOverWhichTheManifestWins has a container's resources that a person and a controller have set, beside resources of the pod that
// exclude the person's: only the controller's comes back.
func TestAUnitOverWhichTheManifestWins(t *testing.T) {
	t.Parallel()
	if !cluster.Plane.Since(34) {
		t.Skip("this API server ignores the resources of a pod")
	}
	manifest := ruled(".spec.template.spec.containers[*].resources.limits.cpu", deployment("3", "app:1"))
	limits := func(manager, name, value string) step {
		return runs("patch", "deployment", "web", "--field-manager="+manager, "-p",
			`{"spec":{"template":{"spec":{"containers":[{"name":"app","resources":{"limits":{"`+name+`":"`+value+`"}}}]}}}}`)
	}
	ofPod := strings.Replace(withoutResources(manifest), "      schedulerName", "      resources: {limits: {cpu: 2, memory: 32Mi}}\n      schedulerName", 1)
	play(t, map[string]scenario{"": {steps: []step{
		applies(manifest), limits("my-operator", "cpu", "1"), limits("kubectl-patch", "memory", "64Mi"),
		applies(ofPod).says(`not kept`).value(".spec.template.spec.containers[0].resources.limits", `{"cpu":"1"}`),
	}}})
}
