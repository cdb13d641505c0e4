package decision_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/decision"
	"github.com/ownership-handoff/handoff/ownership"
)

// around is a cluster in which an autoscaler wants a number of replicas of each object; none where it is 0.
type around int64

func (around) ScalePath(string, string, string) fieldpath.Path {
	return fieldpath.MakePathOrDie("spec", "replicas")
}

func (a around) Autoscaler(string, string, string, string) (autoscaler string, desired int64) {
	if a == 0 {
		return "", 0
	}
	return "HorizontalPodAutoscaler web", int64(a)
}

// applied is an object that kubectl apply has written from a manifest with a spec.
func applied(t *testing.T, spec, manifest string) ownership.Object {
	t.Helper()
	if spec == "" {
		return ownership.Object{}
	}
	text := `{"metadata":{"annotations":{"` + ownership.LastAppliedAnnotation + `":"{\"spec\":` + strings.ReplaceAll(manifest, `"`, `\"`) + `}"},` +
		`"managedFields":[{"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":"apps/v1","fieldsV1":` +
		`{"f:metadata":{"f:annotations":{"f:` + ownership.LastAppliedAnnotation + `":{}}},"f:spec":{"f:replicas":{}}}}]},"spec":` + spec + `}`
	o, err := ownership.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWhatBecomesOfAWriteAndWhy(t *testing.T) {
	for sentence, c := range map[string]struct {
		cluster        around
		live, incoming string
		base, manifest string
		want           []string
	}{
		"an autoscaler keeps what the manifest sets": {
			7, `{"replicas":7}`, `{"replicas":3}`, `{"replicas":3}`, `{"replicas":3}`,
			[]string{"row 1: keep 7 for HorizontalPodAutoscaler web; delete it from the manifest"},
		},
		"an autoscaler keeps what the manifest lets go of": {
			7, `{"replicas":7}`, `{"replicas":1}`, `{"replicas":3}`, `{}`,
			[]string{"row 2: keep 7 for HorizontalPodAutoscaler web; there is nothing to do"},
		},
		"letting go of replicas never means 1": {
			0, `{"replicas":3}`, `{"replicas":1}`, `{"replicas":3}`, `{}`,
			[]string{"row 4: keep 3, no longer in the manifest; from now on use kubectl scale"},
		},
		"what the manifest sets is set where nobody else owns it": {
			0, `{"replicas":3}`, `{"replicas":5}`, `{"replicas":3}`, `{"replicas":5}`, nil,
		},
		"a new object starts at the autoscaler's count": {
			7, "", `{"replicas":3}`, "", `{"replicas":3}`,
			[]string{"row 12: start 7 for HorizontalPodAutoscaler web; delete it from the manifest"},
		},
		"a new object that has more already stays": {
			2, "", `{"replicas":3}`, "", `{"replicas":3}`, nil,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			table := decision.Table{Cluster: c.cluster, Managers: config.Default().Managers()}
			out, err := table.Decide(decision.Request{
				Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web",
				FieldManager: "kubectl-client-side-apply",
				Live:         applied(t, c.live, c.base), Incoming: applied(t, c.incoming, c.manifest),
			})
			if err != nil {
				t.Fatal(err)
			}
			got := make([]string, len(out.Changes))
			for i := range out.Changes {
				got[i] = told(&out.Changes[i])
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if (len(out.Operations) > 0) != (len(c.want) > 0) {
				t.Errorf("operations: %v", out.Operations)
			}
		})
	}
}

func told(c *decision.Change) string {
	before, by, after := c.Because()
	return "row " + strconv.Itoa(c.Row) + ": " + c.Verdict.String() + " " + c.Value() + before + by + after
}

func TestAScaleThatIsNoNumberIsAnError(t *testing.T) {
	table := decision.Table{Cluster: around(7), Managers: config.Default().Managers()}
	_, err := table.Decide(decision.Request{
		FieldManager: "kubectl-client-side-apply",
		Live:         applied(t, `{"replicas":"seven"}`, `{"replicas":3}`), Incoming: applied(t, `{"replicas":3}`, `{"replicas":3}`),
	})
	if !errors.Is(err, decision.ErrNotANumber) {
		t.Errorf("want %v, got %v", decision.ErrNotANumber, err)
	}
}
