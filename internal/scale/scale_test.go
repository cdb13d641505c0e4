package scale_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/scale"
)

func TestKnownScalePaths(t *testing.T) {
	for kind, want := range map[schema.GroupKind]struct{ known, builtin bool }{
		{Group: "apps", Kind: "Deployment"}:                    {true, true},
		{Group: "apps", Kind: "StatefulSet"}:                   {true, true},
		{Group: "apps", Kind: "ReplicaSet"}:                    {true, true},
		{Group: "", Kind: "ReplicationController"}:             {true, true},
		{Group: "apps", Kind: "DaemonSet"}:                     {false, false},
		{Group: "extensions.example.com", Kind: "Deployment"}:  {false, false},
		{Group: "apps.openshift.io", Kind: "DeploymentConfig"}: {true, false},
		{Group: "example.com", Kind: "DeploymentConfig"}:       {false, false},
	} {
		known, builtin := scale.Known(kind.Group, kind.Kind), scale.Builtin(kind.Group, kind.Kind)
		if known != nil != want.known || builtin != nil != want.builtin {
			t.Errorf("%s: want %+v, got %s and %s", kind, want, known, builtin)
		}
	}
}
