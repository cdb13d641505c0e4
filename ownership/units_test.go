package ownership_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
)

func TestUnitOfAKind(t *testing.T) {
	live := object(t, `{"spec":{"template":{"spec":{"containers":[]}},"jobTemplate":{"spec":{"template":{"spec":{"containers":[]}}}}}}`)
	for sentence, c := range map[string]struct {
		group, kind, path, want string // "" for no unit
	}{
		"data of a ConfigMap":             {"", "ConfigMap", ".data.a", ".data.a"},
		"data of a Secret":                {"", "Secret", ".data.a", ".data.a"},
		"data with the name of a parent":  {"", "ConfigMap", ".data.template", ".data.template"},
		"data of another kind":            {"example.com", "Shop", ".data.a", ""},
		"data of another ConfigMap":       {"example.com", "ConfigMap", ".data.a", ""},
		"binaryData":                      {"", "ConfigMap", ".binaryData.a", ""},
		"a label of any kind":             {"example.com", "Shop", ".metadata.labels.a", ".metadata.labels.a"},
		"handoff's own label":             {"apps", "Deployment", `.metadata.labels["ownership-handoff.io/mode"]`, ""},
		"what the API server restores":    {"apps", "DaemonSet", `.metadata.annotations["deprecated.daemonset.template.generation"]`, ""},
		"a size of a node group":          {"cluster.x-k8s.io", "MachineSet", `.metadata.annotations["cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"]`, ""},
		"a part of resources":             {"apps", "Deployment", `.spec.template.spec.containers[name="a"].resources.limits.cpu`, `.spec.template.spec.containers[name="a"].resources`},
		"resources of a CronJob":          {"batch", "CronJob", `.spec.jobTemplate.spec.template.spec.containers[name="a"].resources`, `.spec.jobTemplate.spec.template.spec.containers[name="a"].resources`},
		"another field of the same spec":  {"apps", "Deployment", ".spec.minReadySeconds", ""},
		"a label of a pod template":       {"", "PodTemplate", ".template.metadata.labels.a", ""},
		"resources outside of a template": {"", "Pod", `.spec.containers[name="a"].resources`, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			path, _ := fieldpattern.MustParse(c.path)[0].Path()
			unit, _, ok := live.UnitOf(schema.GroupKind{Group: c.group, Kind: c.kind}, path)
			if ok != (c.want != "") || ok && unit.String() != c.want {
				t.Errorf("got %s, %t, want %q", unit, ok, c.want)
			}
		})
	}
	path, _ := fieldpattern.MustParse(".spec.template.metadata.labels.a")[0].Path()
	if unit, _, ok := object(t, "{}").UnitOf(schema.GroupKind{Group: "example.com", Kind: "Shop"}, path); ok {
		t.Errorf("got %s for a template that is not one of pods", unit)
	}
}
