package merge_test

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
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// fakeCluster has an autoscaler for each object, which wants that number of replicas; none if it is 0.
type fakeCluster int64

func (fakeCluster) ScalePath(string, string, string) fieldpath.Path {
	return fieldpath.MakePathOrDie("spec", "replicas")
}

func (f fakeCluster) Scaler(string, string, string, string) ownership.Scaler {
	if f == 0 {
		return ownership.Scaler{}
	}
	return ownership.Scaler{Name: "HorizontalPodAutoscaler/web", Desired: int64(f)}
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

func TestDecide(t *testing.T) {
	for sentence, c := range map[string]struct {
		cluster        fakeCluster
		live, incoming string
		base, manifest string
		want           []string
	}{
		"an autoscaler keeps replicas that the manifest sets": {
			7, `{"replicas":7}`, `{"replicas":3}`, `{"replicas":3}`, `{"replicas":3}`,
			[]string{"row 1: keep 7, owned by HorizontalPodAutoscaler/web; remove it from the manifest"},
		},
		"an autoscaler keeps replicas that the manifest drops": {
			7, `{"replicas":7}`, `{"replicas":1}`, `{"replicas":3}`, `{}`,
			[]string{"row 2: keep 7, owned by HorizontalPodAutoscaler/web; no action needed"},
		},
		"dropping replicas never means 1": {
			0, `{"replicas":3}`, `{"replicas":1}`, `{"replicas":3}`, `{}`,
			[]string{"row 4: keep 3, no longer in the manifest; use an HPA or kubectl scale"},
		},
		"the manifest sets replicas that no one else owns": {
			0, `{"replicas":3}`, `{"replicas":5}`, `{"replicas":3}`, `{"replicas":5}`, nil,
		},
		"a new object starts with the replicas that its autoscaler wants": {
			7, "", `{"replicas":3}`, "", `{"replicas":3}`,
			[]string{"row 12: start 7, owned by HorizontalPodAutoscaler/web; remove it from the manifest"},
		},
		"a new object with more replicas stays as it is": {
			2, "", `{"replicas":3}`, "", `{"replicas":3}`, nil,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			table := merge.Decider{Cluster: c.cluster, Managers: config.Default().Managers()}
			out, err := table.Decide(merge.Request{
				Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web",
				FieldManager: "kubectl-client-side-apply",
				Live:         applied(t, c.live, c.base), Incoming: applied(t, c.incoming, c.manifest),
			})
			if err != nil {
				t.Fatal(err)
			}
			wantChanges(t, c.want, out.Changes)
			if (len(out.Operations) > 0) != (len(c.want) > 0) {
				t.Errorf("operations: %v", out.Operations)
			}
		})
	}
}

func wantChanges(t *testing.T, want []string, changes []merge.Change) {
	t.Helper()
	got := make([]string, len(changes))
	for i := range changes {
		got[i] = summary(&changes[i])
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func summary(c *merge.Change) string {
	before, name, after := c.Text(c.Decision.Verdict.String()+" "+string(c.Value()), c.Path.String())
	return "row " + strconv.Itoa(c.Decision.Row) + ": " + before + name + after
}

func TestDecideRejectsANonIntegerScaleField(t *testing.T) {
	table := merge.Decider{Cluster: fakeCluster(7), Managers: config.Default().Managers()}
	_, err := table.Decide(merge.Request{
		FieldManager: "kubectl-client-side-apply",
		Live:         applied(t, `{"replicas":"seven"}`, `{"replicas":3}`), Incoming: applied(t, `{"replicas":3}`, `{"replicas":3}`),
	})
	if !errors.Is(err, merge.ErrNotAnInteger) {
		t.Errorf("want %v, got %v", merge.ErrNotAnInteger, err)
	}
}

// oneScaler is a cluster in which every object has the same scaler.
type oneScaler struct {
	fakeCluster

	scaler ownership.Scaler
}

func (c oneScaler) Scaler(string, string, string, string) ownership.Scaler { return c.scaler }

func TestZeroReplicasOfAnAutoscaledObject(t *testing.T) {
	hpa := ownership.Scaler{Name: "HorizontalPodAutoscaler/web", OffAtZero: true}
	scaled := ownership.Scaler{Name: "ScaledObject/web"}
	const applier = `,"f:spec":{"f:replicas":{}}`
	for sentence, c := range map[string]struct {
		scaler ownership.Scaler
		entry  string // the scale field in the applier's entry
		live   string
		want   []string
		// dropped reports whether the manifest drops the scale field.
		dropped bool
	}{
		"the scaler sets 0 itself": {scaler: scaled, live: "0", want: []string{"row 1: keep 0, owned by ScaledObject/web; remove it from the manifest"}},
		"the scaler sets 0 itself, after the manifest did": {
			scaler: scaled, entry: applier, live: "0", want: []string{"row 1: keep 0, owned by ScaledObject/web; remove it from the manifest"},
		},
		"a person switched the scaler off": {
			scaler: hpa, live: "0", want: []string{"row 1: keep 0, HorizontalPodAutoscaler/web is off at 0; start it with kubectl scale"},
		},
		"a person switched the scaler off, and the manifest drops replicas": {
			scaler: hpa, live: "0", dropped: true,
			want: []string{"row 2: keep 0, HorizontalPodAutoscaler/web is off at 0; start it with kubectl scale"},
		},
		"a manifest switched the scaler off":                 {scaler: hpa, entry: applier, live: "0"},
		"an applier manages another number than 0":           {scaler: hpa, entry: applier, live: "2", want: []string{"row 1: keep 2, owned by HorizontalPodAutoscaler/web; remove it from the manifest"}},
		"no scaler, and managers whose scalers can be read":  {scaler: ownership.Scaler{Readable: []string{"keda"}}, live: "7"},
		"no scaler, and managers whose scalers are not read": {scaler: ownership.Scaler{}, live: "7", want: []string{"row 1: keep 7, owned by keda; remove it from the manifest"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			object := func(replicas, entry, manifest string) ownership.Object {
				text := `{"metadata":{"annotations":{"` + ownership.LastAppliedAnnotation + `":"{\"spec\":` + manifest + `}"},"managedFields":[` +
					`{"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":"apps/v1","fieldsV1":{"f:metadata":{"f:annotations":{"f:` +
					ownership.LastAppliedAnnotation + `":{}}}` + entry + `}}`
				if replicas == "7" {
					text += `,{"manager":"keda","operation":"Update","subresource":"scale","apiVersion":"apps/v1","fieldsV1":{"f:spec":{"f:replicas":{}}}}`
				}
				o, err := ownership.ParseObject([]byte(text + `]},"spec":{"replicas":` + replicas + `}}`))
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			base := `{\"replicas\":3}`
			manifest := base
			if c.dropped {
				manifest = `{}`
			}
			out, err := merge.Decider{Cluster: oneScaler{scaler: c.scaler}, Managers: config.Default().Managers()}.Decide(merge.Request{
				Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, FieldManager: "kubectl-client-side-apply",
				Live: object(c.live, c.entry, base), Incoming: object("3", applier, manifest),
			})
			if err != nil {
				t.Fatal(err)
			}
			wantChanges(t, c.want, out.Changes)
		})
	}
}
