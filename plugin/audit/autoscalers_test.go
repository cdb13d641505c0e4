package audit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/audit"
)

func TestAutoscalerRisks(t *testing.T) {
	const (
		failed = `{"type":"AbleToScale","status":"False","reason":"FailedGetScale","lastTransitionTime":"2026-01-02T03:04:05Z"}`
		able   = `{"type":"AbleToScale","status":"True","reason":"ReadyForNewScale"}`
		crd    = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.example.com","managedFields":[{"manager":"x"}]},
			"spec":{"group":"example.com","names":{"kind":"Gadget"},"versions":[{"name":"v1"}]}}`
	)
	web := object{spec: `{"replicas":7}`, entries: []string{scaled}}.text()
	for sentence, test := range map[string]struct {
		objects   []string
		want, gap string // gap is part of the expected gap
	}{
		"the target is in the files": {[]string{web, ofWeb("web")}, "", ""},
		"two with the same target": {
			[]string{web, ofWeb("b"), ofWeb("a")},
			"two-autoscalers | .spec.replicas | 7 | each autoscaler scales it: a 2 to 9, b 2 to 9 |  | HorizontalPodAutoscaler/a+HorizontalPodAutoscaler/b", "",
		},
		"two with the same target in different versions, reported by their controller": {
			[]string{web, ofWeb("b"), hpa("a", "apps/v1beta1", "Deployment", "web",
				`{"type":"ScalingActive","status":"False","reason":"AmbiguousSelector","lastTransitionTime":"2026-01-02T03:04:05Z"}`)},
			"two-autoscalers | .spec.replicas | 7 | no autoscaler scales by metrics: a 2 to 9, b 2 to 9 |  | HorizontalPodAutoscaler/a+HorizontalPodAutoscaler/b", "",
		},
		"a ScaledObject and a HorizontalPodAutoscaler that it did not create": {
			[]string{web, ofWeb("a"), scaledObject("web"), scaledObject("b")},
			"two-autoscalers | .spec.replicas | 7 | each autoscaler scales it: ScaledObject/b, ScaledObject/web, a 2 to 9 |  | " +
				"ScaledObject/b+ScaledObject/web+HorizontalPodAutoscaler/a", "",
		},
		"a ScaledObject and the HorizontalPodAutoscaler that it created": {
			[]string{web, scaledObject("web"), createdBy("web", ofWeb("keda-hpa-web"))}, "", "",
		},
		"two with the same target, of which one is being deleted": {[]string{web, deleted(ofWeb("a")), ofWeb("b")}, "", ""},
		"a ScaledObject and a HorizontalPodAutoscaler, of which one is being deleted": {
			[]string{web, ofWeb("a"), deleted(scaledObject("web"))}, "", "",
		},
		"without a target, and being deleted": {
			[]string{web, ofWeb("web"), deleted(hpa("gone", "apps/v1", "Deployment", "gone", failed)), deleted(scaledObjectOf("none", `{}`))}, "", "",
		},
		"the files contain other objects of the kind": {
			[]string{web, hpa("gone", "apps/v1", "Deployment", "gone", "")},
			"no-target | .spec.scaleTargetRef | no deployment.apps/gone | is scaled to at least 2 once it exists |  | ", "",
		},
		"not in the files, but found by its controller": {
			[]string{web, hpa("far", "apps/v1", "Deployment", "far", able)}, "", "",
		},
		"the files contain no object of the kind": {
			[]string{hpa("far", "apps/v1", "StatefulSet", "far", "")}, "", "unknown whether the targets statefulset.apps/far of autoscalers exist",
		},
		"the files contain no object of the kind, and its controller has not found it": {
			[]string{hpa("gone", "apps/v1", "StatefulSet", "gone", failed)},
			"no-target | .spec.scaleTargetRef | no statefulset.apps/gone | is scaled to at least 2 once it exists |  | ", "",
		},
		"a ScaledObject without its target": {
			[]string{web, ofWeb("web"), scaledObjectOf("gone", `{"scaleTargetRef":{"name":"gone"}}`)},
			"no-target | .spec.scaleTargetRef | no deployment.apps/gone | is scaled once it exists |  | ", "",
		},
		"a ScaledObject without its target, whose HorizontalPodAutoscaler is left": {
			[]string{web, scaledObjectOf("gone", `{"scaleTargetRef":{"name":"gone"}}`),
				createdBy("gone", hpa("keda-hpa-gone", "apps/v1", "Deployment", "gone", failed))},
			"no-target | .spec.scaleTargetRef | no deployment.apps/gone | is scaled once it exists |  | ", "",
		},
		"a HorizontalPodAutoscaler whose creator is gone": {
			[]string{web, createdBy("gone", hpa("keda-hpa-gone", "apps/v1", "Deployment", "gone", ""))},
			"no-target | .spec.scaleTargetRef | no deployment.apps/gone | is scaled to at least 2 once it exists |  | ", "",
		},
		"a ScaledObject of a kind without a scale subresource": {
			[]string{scaledObjectOf("nodes", `{"scaleTargetRef":{"kind":"DaemonSet","name":"agent"}}`)},
			"no-target | .spec.scaleTargetRef | no daemonset.apps/agent | nothing: no such kind with a scale subresource |  | ", "",
		},
		"a HorizontalPodAutoscaler whose reference cannot be read": {
			[]string{web, ofWeb("web"), hpa("odd", "a/b/c", "Deployment", "web", "")},
			"no-target | .spec.scaleTargetRef | the reference has a malformed apiVersion | nothing: no valid reference |  | ", "",
		},
		"a ScaledObject without a reference": {
			[]string{web, ofWeb("web"), scaledObjectOf("none", `{}`)},
			"no-target | .spec.scaleTargetRef | the reference is missing | nothing: no valid reference |  | ", "",
		},
		"a ScaledObject, and the files contain no object of its target's kind": {
			[]string{scaledObjectOf("far", `{"scaleTargetRef":{"kind":"StatefulSet","name":"far"}}`)}, "",
			"unknown whether the targets statefulset.apps/far of autoscalers exist",
		},
		"a Rollout with its own pods needs no target": {
			[]string{`{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"name":"own","namespace":"shop",
				"managedFields":[{"manager":"x"}]},"spec":{"template":{}}}`}, "", "unknown which field an autoscaler sets",
		},
		"a built-in kind without a scale subresource": {
			[]string{hpa("nodes", "apps/v1", "DaemonSet", "agent", "")},
			"no-target | .spec.scaleTargetRef | no daemonset.apps/agent | nothing: no such kind with a scale subresource |  | ", "",
		},
		"a custom resource without a scale subresource": {
			[]string{crd, hpa("pool", "example.com/v1", "Gadget", "pool", able)},
			"no-target | .spec.scaleTargetRef | no gadget.example.com/pool | nothing: no such kind with a scale subresource |  | ", "",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			report := reportOf(t, append(test.objects, shop(""))...)
			check(t, test.want, report)
			if gaps := strings.Join(report.Gaps, "\n"); (gaps != "") != (test.gap != "") || !strings.Contains(gaps, test.gap) {
				t.Errorf("want %q, got gaps\n%s", test.gap, gaps)
			}
		})
	}
}

// scaledObject returns a ScaledObject that references Deployment web.
func scaledObject(name string) string {
	return scaledObjectOf(name, `{"scaleTargetRef":{"name":"web"}}`)
}

func scaledObjectOf(name, spec string) string {
	return `{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"name":"` + name +
		`","namespace":"shop","managedFields":[{"manager":"x"}]},"spec":` + spec + `}`
}

// deleted returns an autoscaler that is being deleted.
func deleted(autoscaler string) string {
	return strings.Replace(autoscaler, `"managedFields"`, `"deletionTimestamp":"2026-01-01T00:00:00Z","managedFields"`, 1)
}

// createdBy returns a HorizontalPodAutoscaler that a ScaledObject has created.
func createdBy(scaledObject, hpa string) string {
	return strings.Replace(hpa, `"managedFields"`, `"ownerReferences":[{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","name":"`+
		scaledObject+`","uid":"u","controller":true}],"managedFields"`, 1)
}

func TestAScalerOwnsReplicasByItsReference(t *testing.T) {
	manifest := `{"spec":{"replicas":3}}`
	web := object{manifest: manifest, spec: `{"replicas":0,"paused":true}`, entries: []string{kubectl(`"f:paused":{}`)}}.text()
	check(t, "replicas | .spec.replicas | 0 | sets 3 | off: would keep 0 | ScaledObject/web+kubectl-client-side-apply",
		reportOf(t, web, scaledObject("web"), shop("")))
	for _, risk := range reportOf(t, web, deleted(scaledObject("web")), deleted(ofWeb("web")), shop("")).Risks {
		if strings.Contains(strings.Join(risk.Managers, " "), "/web") {
			t.Errorf("want no scaler that is being deleted, got %+v", risk)
		}
	}
	// The files contain ScaledObjects, none of which references it: the name of KEDA's field manager proves nothing.
	left := object{
		manifest: manifest, spec: `{"replicas":7}`, entries: []string{kubectl(``), entry("keda", "Update", "", replicas)},
	}.text()
	elsewhere := strings.Replace(scaledObject("web"), `"name":"web"}}`, `"name":"api"}}`, 1)
	for _, risk := range reportOf(t, left, elsewhere, shop("")).Risks {
		if risk.Kind == audit.Replicas {
			t.Errorf("want no autoscaler, got %+v", risk)
		}
	}
}

func TestAnAutoscalerThatHasScaledToZeroOwnsTheReplicas(t *testing.T) {
	web := object{manifest: `{"spec":{"replicas":3}}`, spec: `{"replicas":0}`, entries: []string{kubectl(replicas)}}.text()
	for status, want := range map[string]string{
		"True":  "replicas | .spec.replicas | 0 | sets 3 | off: would keep 0 | HorizontalPodAutoscaler/web+kubectl-client-side-apply",
		"False": "", // the manifest has switched it off
	} {
		elastic := hpa("web", "apps/v1", "Deployment", "web", `{"type":"ScaledToZero","status":"`+status+`"}`)
		check(t, want, reportOf(t, web, strings.Replace(elastic, `"minReplicas":2`, `"minReplicas":0`, 1), shop("")))
	}
}

func TestGapsOfManyObjectsAreCombined(t *testing.T) {
	objects := make([]string, 0, 9)
	for range 5 {
		objects = append(objects, object{spec: `{"replicas":7}`}.text())
	}
	unreadable := object{spec: `{}`, manifest: "{", entries: []string{kubectl(``)}}.text()
	report := reportOf(t, append(objects, unreadable, ofWeb("web"), shop(""))...)
	want := []string{
		"deployment.apps/web: annotation kubectl.kubernetes.io/last-applied-configuration cannot be read",
		"deployment.apps/web -n shop, deployment.apps/web -n shop and 3 others: no managedFields, so",
	}
	if !slices.EqualFunc(report.Gaps, want, strings.HasPrefix) {
		t.Errorf("want gaps that begin with %q, got %q", want, report.Gaps)
	}
}

func TestADeletionThatDeletesPodsIsNoRemedy(t *testing.T) {
	rollout := `{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"name":"web","namespace":"shop",
		"managedFields":[{"manager":"x"}]},"spec":{"replicas":10,"workloadRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"gone",
		"scaleDown":"onsuccess"}}}`
	web := object{manifest: `{"spec":{}}`, spec: `{"replicas":7}`, entries: []string{kubectl(``)}}.text()
	for scaler, want := range map[string][]string{
		rollout: {"apply deployment.apps/gone"},
		hpa("web", "apps/v1", "Deployment", "gone", ""): {
			"kubectl delete horizontalpodautoscaler.autoscaling/web -n shop", "or apply deployment.apps/gone",
		},
	} {
		var got []string
		for _, risk := range reportOf(t, web, scaler, shop("")).Risks {
			if risk.Kind == audit.NoTarget {
				got = append(got, risk.Remedies...)
			}
		}
		expect.Equal(t, "remedies", want, got)
	}
}
