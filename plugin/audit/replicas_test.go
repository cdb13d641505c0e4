package audit_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/audit"
)

func TestReplicasRisk(t *testing.T) {
	const three, seven, none, null = `{"spec":{"replicas":3}}`, `{"spec":{"replicas":7}}`, `{"spec":{"paused":true}}`, `{"spec":{"replicas":null}}`
	for sentence, test := range map[string]struct {
		object     object
		autoscaler string // name, or ""
		want       string
		unrecorded bool
	}{
		"the manifest sets another number": {
			object{manifest: three, spec: `{"replicas":7}`, entries: []string{kubectl(``), scaled}}, "web",
			"replicas | .spec.replicas | 7 | sets 3 | off: would keep 7 | HorizontalPodAutoscaler/web+kubectl-client-side-apply", false,
		},
		"both are equal now": {
			object{manifest: seven, spec: `{"replicas":7}`, entries: []string{kubectl(replicas)}}, "web",
			"replicas | .spec.replicas | 7 | sets 7, the current value | off: would keep 7 | HorizontalPodAutoscaler/web+kubectl-client-side-apply", false,
		},
		"the manifest sets null": {
			object{manifest: null, spec: `{"replicas":7}`, entries: []string{kubectl(``), scaled}}, "web",
			"replicas | .spec.replicas | 7 | clears it; the default applies | off: would keep 7 | HorizontalPodAutoscaler/web+kubectl-client-side-apply", false,
		},
		"the annotation was written by hand": {
			object{manifest: three, spec: `{"replicas":7}`, entries: []string{scaled}}, "web",
			"replicas | .spec.replicas | 7 | sets 3 | off: would keep 7 | HorizontalPodAutoscaler/web+last-applied", false,
		},
		"managedFields were stripped": {
			object{manifest: three, spec: `{"replicas":7}`}, "web",
			"replicas | .spec.replicas | 7 | sets 3 | off: would keep 7 | HorizontalPodAutoscaler/web+last-applied", false,
		},
		"a manager listed as an autoscaler wrote it": {
			object{manifest: three, spec: `{"replicas":7}`, entries: []string{kubectl(``), entry("keda", "Update", "", replicas)}}, "",
			"replicas | .spec.replicas | 7 | sets 3 | off: would keep 7 | keda+kubectl-client-side-apply", false,
		},
		"a server-side applier manages it": {
			object{spec: `{"replicas":7}`, entries: []string{entry("flux", "Apply", "", replicas)}}, "web",
			"replicas | .spec.replicas | 7 | sets 7, the current value | off: would keep 7 | HorizontalPodAutoscaler/web+flux", false,
		},
		"helm manages it, and does not record its manifest": {
			object{spec: `{"replicas":7}`, entries: []string{entry("helm", "Update", "", replicas)}}, "web",
			"replicas | .spec.replicas | 7 | may set it: the manifest of helm is not recorded | off: would keep 7 | HorizontalPodAutoscaler/web+helm", false,
		},
		"the object is in another mode than its namespace": {
			object{mode: "enforce", manifest: three, spec: `{"replicas":7}`, entries: []string{kubectl(``), scaled}}, "web",
			"replicas | .spec.replicas | 7 | sets 3 | keeps 7 | HorizontalPodAutoscaler/web+kubectl-client-side-apply", false,
		},
		"not in the manifest, a default of the client that created the object": {
			object{manifest: none, spec: `{"replicas":1}`, entries: []string{kubectl(replicas)}}, "web", "", false,
		},
		"not in the manifest, set by the autoscaler": {
			object{manifest: none, spec: `{"replicas":7}`, entries: []string{kubectl(``), scaled}}, "web", "", false,
		},
		"no autoscaler": {
			object{manifest: three, spec: `{"replicas":7}`, entries: []string{kubectl(``), entry("kubectl", "Update", "scale", replicas)}}, "", "", false,
		},
		"a former autoscaler": {
			object{manifest: three, spec: `{"replicas":7}`, entries: []string{kubectl(``), scaled}}, "", "", false,
		},
		"the autoscaler took it over from a server-side applier": {
			object{spec: `{"replicas":7}`, entries: []string{entry("flux", "Apply", "", `"f:paused":{}`), scaled}}, "web", "", true,
		},
		"a server-side applier never set it": {
			object{spec: `{"replicas":7}`, entries: []string{entry("flux", "Apply", "", `"f:paused":{}`)}}, "web", "", false,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects := []string{test.object.text(), shop("")}
			objects = append(objects, hpa("other", "apps/v1", "Deployment", "other", `{"type":"AbleToScale","status":"True"}`))
			if test.autoscaler != "" {
				objects = append(objects, ofWeb(test.autoscaler))
			}
			report := reportOf(t, objects...)
			check(t, test.want, report)
			unrecorded := notes(report, audit.Unrecorded)
			expect.Equal(t, "unrecorded", test.unrecorded, len(unrecorded) > 0)
			expect.Equal(t, "possible risks, as nothing keeps it in a namespace that is off", len(unrecorded), len(report.Possible()))
		})
	}
}

// TestNotes verifies which objects have replicas that may scale to 1, or rules that an undo took away.
func TestNotes(t *testing.T) {
	const ruled = `{"metadata":{"annotations":{"ownership-handoff.io/controller-fields":".spec.paused"}},"spec":{}}`
	for sentence, test := range map[string]struct {
		object     object
		autoscaler bool
		kind       audit.Kind
		want       int
	}{
		"a server-side applier sets replicas": {object{spec: `{"replicas":7}`, entries: []string{entry("flux", "Apply", "", replicas)}}, false, audit.ScalesToOne, 1},
		"Helm 3 sets replicas":                {object{spec: `{"replicas":7}`, entries: []string{entry("helm", "Update", "", replicas)}}, false, audit.ScalesToOne, 1},
		"not with an autoscaler":              {object{spec: `{"replicas":7}`, entries: []string{entry("flux", "Apply", "", replicas)}}, true, audit.ScalesToOne, 0},
		"not 1":                               {object{spec: `{"replicas":1}`, entries: []string{entry("flux", "Apply", "", replicas)}}, false, audit.ScalesToOne, 0},
		"not where last-applied has them":     {object{manifest: `{"spec":{"replicas":7}}`, spec: `{"replicas":7}`, entries: []string{kubectl(replicas)}}, false, audit.ScalesToOne, 0},
		"not where no applier manages them":   {object{spec: `{"replicas":7}`, entries: []string{scaled}}, false, audit.ScalesToOne, 0},
		"only the manifest has the rules":     {object{manifest: ruled, spec: `{}`, entries: []string{kubectl(``)}}, false, audit.RulesUndone, 1},
		"neither manifest nor object has any": {object{manifest: `{"spec":{}}`, spec: `{}`, entries: []string{kubectl(``)}}, false, audit.RulesUndone, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects := []string{test.object.text(), shop("")}
			if test.autoscaler {
				objects = append(objects, ofWeb("web"))
			}
			expect.Equal(t, "number of objects", test.want, len(notes(reportOf(t, objects...), test.kind)))
		})
	}
}

func TestHandoffColumnByMode(t *testing.T) {
	for mode, want := range map[string]string{
		"": "off: would keep 7", "off": "off: would keep 7", "warn": "warn: would keep 7", "enforce": "keeps 7", "maybe": "warn: would keep 7",
	} {
		o := object{manifest: `{"spec":{"replicas":3}}`, spec: `{"replicas":7}`, entries: []string{kubectl(``), scaled}}
		report := reportOf(t, o.text(), ofWeb("web"), shop(mode))
		if len(report.Risks) != 1 || report.Risks[0].Handoff != want {
			t.Errorf("%s: want %s, got %s", mode, want, risks(report))
		}
	}
}
