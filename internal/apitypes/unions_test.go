package apitypes_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

func TestContradictions(t *testing.T) {
	template := func(volumes string) string { return `{"spec":{"template":{"spec":{"volumes":` + volumes + `}}}}` }
	for name, c := range map[string]struct {
		kind, incoming string
		want           string // the member, and what contradicts it
	}{
		"a stateful set's rollingUpdate by OnDelete": {
			"apps/StatefulSet", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0},"type":"OnDelete"}}}`,
			".spec.updateStrategy.rollingUpdate by OnDelete",
		},
		"with what newer API servers default there": {
			"apps/StatefulSet", `{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":1,"partition":0},"type":"OnDelete"}}}`,
			".spec.updateStrategy.rollingUpdate by OnDelete",
		},
		"a deployment's rollingUpdate by Recreate": {
			"apps/Deployment", `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"Recreate"}}}`,
			".spec.strategy.rollingUpdate by Recreate",
		},
		"a volume's emptyDir by its source": {
			"apps/DaemonSet", template(`[{"name":"u","emptyDir":{}},{"configMap":{"name":"c"},"emptyDir":{},"name":"v"}]`),
			`.spec.template.spec.volumes[name="v"].emptyDir by configMap`,
		},
		"in the core group": {
			"/ReplicationController", template(`[{"name":"v","emptyDir":{},"secret":{}}]`),
			`.spec.template.spec.volumes[name="v"].emptyDir by secret`,
		},
		"in a cron job": {
			"batch/CronJob", `{"spec":{"jobTemplate":` + template(`[{"name":"v","emptyDir":{},"secret":{}}]`) + `}}`,
			`.spec.jobTemplate.spec.template.spec.volumes[name="v"].emptyDir by secret`,
		},
		"a value that is no default": {
			"apps/StatefulSet", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":2},"type":"OnDelete"}}}`, "",
		},
		"an emptyDir with something in it": {
			"apps/Deployment", template(`[{"name":"v","emptyDir":{"medium":"Memory"},"secret":{}}]`), "",
		},
		"a choice that goes with it": {
			"apps/StatefulSet", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0},"type":"RollingUpdate"}}}`, "",
		},
		"two sources besides": {
			"apps/Deployment", template(`[{"name":"v","emptyDir":{},"secret":{},"configMap":{}}]`), "",
		},
		"an emptyDir alone": {"apps/Deployment", template(`[{"name":"v","emptyDir":{}}]`), ""},
		"combinations that the API server accepts": {
			"apps/DaemonSet", `{"spec":{"updateStrategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1},"type":"OnDelete"}}}`, "",
		},
		"a kind of another group": {
			"example.com/StatefulSet", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0},"type":"OnDelete"}}}`, "",
		},
		"no union at all":       {"apps/StatefulSet", `{"spec":{}}`, ""},
		"a union of other type": {"apps/StatefulSet", `{"spec":{"updateStrategy":["rollingUpdate"]}}`, ""},
		"volumes of other type": {"apps/Deployment", template(`{"emptyDir":{}}`), ""},
		"a nameless volume":     {"apps/Deployment", template(`[{"emptyDir":{},"secret":{}}]`), ""},
	} {
		group, kind, _ := strings.Cut(c.kind, "/")
		found := make([]string, 0, 1)
		for _, c := range apitypes.Contradictions(schema.GroupKind{Group: group, Kind: kind}, nil, jsontree.Valid([]byte(c.incoming))) {
			found = append(found, c.Member.String()+" by "+c.By)
		}
		expect.Equal(t, name, c.want, strings.Join(found, ", "))
	}
}
