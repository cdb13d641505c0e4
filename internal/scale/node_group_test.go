package scale_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/scale"
)

func TestNodeGroupScaler(t *testing.T) {
	const prefix = `"cluster.x-k8s.io/cluster-api-autoscaler-node-group-`
	sizes := func(minimum, maximum string) string {
		return prefix + `min-size":` + minimum + `,` + prefix + `max-size":` + maximum
	}
	const scaler = "cluster-autoscaler"
	for sentence, c := range map[string]struct{ group, kind, annotations, want string }{
		"a MachineDeployment":                 {"cluster.x-k8s.io", "MachineDeployment", sizes(`"1"`, `"9"`), scaler},
		"a MachineSet":                        {"cluster.x-k8s.io", "MachineSet", sizes(`"0"`, `"9"`), scaler},
		"a MachinePool with equal sizes":      {"cluster.x-k8s.io", "MachinePool", sizes(`"3"`, `"3"`), scaler},
		"another kind":                        {"cluster.x-k8s.io", "Cluster", sizes(`"1"`, `"9"`), ""},
		"another group":                       {"apps", "MachineDeployment", sizes(`"1"`, `"9"`), ""},
		"no annotations":                      {"cluster.x-k8s.io", "MachineDeployment", ``, ""},
		"only a minimum":                      {"cluster.x-k8s.io", "MachineDeployment", prefix + `min-size":"1"`, ""},
		"a maximum below the minimum":         {"cluster.x-k8s.io", "MachineDeployment", sizes(`"9"`, `"1"`), ""},
		"sizes of 0, which switch it off":     {"cluster.x-k8s.io", "MachineDeployment", sizes(`"0"`, `"0"`), ""},
		"a size that is not a number":         {"cluster.x-k8s.io", "MachineDeployment", sizes(`"one"`, `"9"`), ""},
		"a negative size":                     {"cluster.x-k8s.io", "MachineDeployment", sizes(`"-1"`, `"9"`), ""},
		"a size that is a number, not a text": {"cluster.x-k8s.io", "MachineDeployment", sizes(`1`, `"9"`), ""},
	} {
		o := jsontree.Valid([]byte(`{"metadata":{"annotations":{` + c.annotations + `}}}`))
		expect.Equal(t, sentence, c.want, scale.NodeGroupScaler(schema.GroupKind{Group: c.group, Kind: c.kind}, o))
	}
}
