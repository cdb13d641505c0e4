package scale_test

import (
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/scale"
)

func TestChooseAndRivals(t *testing.T) {
	hpa := func(name, controller string) scale.Reference {
		o := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: name}}
		o.Spec.MaxReplicas, o.Status.DesiredReplicas = 9, 7
		if controller != "" {
			o.OwnerReferences = []metav1.OwnerReference{{Kind: "ScaledObject", Name: controller, Controller: new(true)}}
		}
		r, _, _ := scale.OfHPA(o)
		return r
	}
	of := func(rank int, name string) scale.Reference {
		k := scale.Kinds()[rank]
		object := map[string]any{"spec": map[string]any{k.Path[1]: map[string]any{"name": "web", "scaleDown": "onsuccess"}}}
		r, ok, err := k.ReferenceOf(object, name, rank)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		return r
	}
	const scaledObject, rollout, canary = 0, 1, 2
	for sentence, c := range map[string]struct {
		references []scale.Reference
		first      string
		desired    int64
		offAtZero  bool
		rivals     []string
	}{
		"none":          {},
		"one":           {[]scale.Reference{hpa("b", "")}, "HorizontalPodAutoscaler/b", 7, true, nil},
		"two of a kind": {[]scale.Reference{hpa("b", ""), hpa("a", "")}, "HorizontalPodAutoscaler/a", 7, true, []string{"HorizontalPodAutoscaler/a", "HorizontalPodAutoscaler/b"}},
		"a ScaledObject and the HorizontalPodAutoscaler that it created": {
			[]scale.Reference{hpa("keda-hpa-web", "web"), of(scaledObject, "web")}, "ScaledObject/web", 7, false, nil,
		},
		"a ScaledObject and another HorizontalPodAutoscaler": {
			[]scale.Reference{hpa("a", "other"), of(scaledObject, "web")}, "ScaledObject/web", 7, false,
			[]string{"ScaledObject/web", "HorizontalPodAutoscaler/a"},
		},
		"a Canary works beside an autoscaler": {
			[]scale.Reference{hpa("a", ""), of(canary, "web")}, "Canary/web", 7, false, nil,
		},
		"two ScaledObjects and a Canary": {
			[]scale.Reference{of(canary, "web"), of(scaledObject, "b"), of(scaledObject, "a")}, "ScaledObject/a", 0, false,
			[]string{"ScaledObject/a", "ScaledObject/b"},
		},
		"a Rollout and a ScaledObject": {
			[]scale.Reference{of(rollout, "web"), of(scaledObject, "web")}, "ScaledObject/web", 0, false, []string{"ScaledObject/web", "Rollout/web"},
		},
	} {
		first, ok := scale.Choose(c.references)
		if ok != (c.first != "") || first.Scaler != c.first || first.Desired != c.desired || first.OffAtZero != c.offAtZero {
			t.Errorf("%s: want %s, %d, %v, got %+v", sentence, c.first, c.desired, c.offAtZero, first)
		}
		expect.Equal(t, sentence+": rivals", c.rivals, scale.Rivals(c.references))
	}
}

func TestTargetOfAScaler(t *testing.T) {
	kinds := scale.Kinds()
	for sentence, c := range map[string]struct {
		kind   scale.Kind
		object map[string]any
		want   string
	}{
		"defaults":    {kinds[0], map[string]any{"spec": map[string]any{"scaleTargetRef": map[string]any{"name": "web"}}}, "Deployment.apps/web"},
		"a core kind": {kinds[0], map[string]any{"spec": map[string]any{"scaleTargetRef": map[string]any{"apiVersion": "v1", "kind": "ReplicationController", "name": "web"}}}, "ReplicationController/web"},
		"an object that is being deleted": {
			kinds[0], map[string]any{
				"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"},
				"spec":     map[string]any{"scaleTargetRef": map[string]any{"name": "web"}},
			}, "none",
		},
		"an object without a reference that is being deleted": {
			kinds[0], map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "none",
		},
		"no spec":                       {kinds[0], map[string]any{}, ".spec.scaleTargetRef: the reference is missing"},
		"a spec that is a list":         {kinds[0], map[string]any{"spec": []any{}}, ".spec.scaleTargetRef: the reference is not an object"},
		"a name that is a number":       {kinds[0], map[string]any{"spec": map[string]any{"scaleTargetRef": map[string]any{"name": 7}}}, ".spec.scaleTargetRef: the reference has no name"},
		"a name of 254 bytes":           {kinds[0], map[string]any{"spec": map[string]any{"scaleTargetRef": map[string]any{"name": strings.Repeat("x", 254)}}}, ".spec.scaleTargetRef: the reference has a name, kind or apiVersion that no object can have, because it is too long"},
		"a Rollout with its own pods":   {kinds[1], map[string]any{"spec": map[string]any{}}, "none"},
		"a Rollout beside its workload": {kinds[1], map[string]any{"spec": map[string]any{"workloadRef": map[string]any{"name": "web", "scaleDown": "never"}}}, "none"},
		"a Rollout that takes over":     {kinds[1], map[string]any{"spec": map[string]any{"workloadRef": map[string]any{"name": "web", "scaleDown": "progressively"}}}, "Deployment.apps/web"},
		"a Canary of a DaemonSet":       {kinds[2], map[string]any{"spec": map[string]any{"targetRef": map[string]any{"kind": "DaemonSet", "name": "web"}}}, "DaemonSet.apps/web"},
	} {
		target, name, ok, err := c.kind.Target(c.object)
		got := "none"
		switch {
		case err != nil:
			got = err.Error()
		case ok:
			got = target.String() + "/" + name
		}
		expect.Equal(t, sentence, c.want, got)
	}
}
