package ownership_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// fieldManagers are the managers of the tests.
func fieldManagers() ownership.Managers {
	return ownership.Managers{
		Autoscalers: []string{"keda"}, Appliers: []string{"kubectl-client-side-apply", "helm"}, Imperative: []string{"kubectl", "kubectl-*"},
	}
}

// claimOf is an entry of managedFields; who is manager/operation, for a subresource with /subresource behind it.
func claimOf(who, time, fields string) string {
	parts := append(strings.Split(who, "/"), "")
	return fmt.Sprintf(`{"manager":%q,"operation":%q,"subresource":%q,"apiVersion":"v1","time":%q,"fieldsV1":%s}`,
		parts[0], parts[1], parts[2], time, fields)
}

// liveWith is a live object of which body is all but the metadata; declared is its last-applied annotation, if any.
func liveWith(body, declared string, claims ...string) string {
	annotations := ""
	if declared != "" {
		annotations = `,"annotations":{"` + ownership.LastAppliedAnnotation + `":` + strconv.Quote(declared) + `}`
	}
	managedFields := ""
	if len(claims) > 0 {
		managedFields = `,"managedFields":[` + strings.Join(claims, ",") + `]`
	}
	return `{"apiVersion":"v1","kind":"Web","metadata":{"name":"web","uid":"1"` + annotations + managedFields + `}` + body + `}`
}

// linesOf shows fields: path=value owner by since [holders] what is declared.
func linesOf(fields ownership.Fields) []string {
	var lines []string
	for _, f := range fields {
		var holders []string
		for _, h := range f.Holders {
			holders = append(holders, strings.TrimSuffix(h.Manager+"/"+h.Operation+"/"+h.Subresource, "/"))
		}
		line := fmt.Sprintf("%s=%s %s %s %s %v", f.Path, f.Value, f.Owner, f.By, f.Since, holders)
		if f.Declared != ownership.Lacks {
			line += " " + f.Declared.String()
		}
		if f.DeclaredValue != nil {
			line += " to " + string(f.DeclaredValue)
		}
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

func parseLive(t testing.TB, text string) ownership.Object {
	t.Helper()
	o, err := ownership.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const (
	clientSide = "kubectl-client-side-apply/Update"
	annotated  = `"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}}`
)

type fieldsCase struct {
	context ownership.ObjectContext
	live    string
	want    []string
}

func (c fieldsCase) run(t *testing.T) {
	t.Helper()
	c.context.Managers = fieldManagers()
	fields, err := c.context.Fields(parseLive(t, c.live))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.want, linesOf(fields)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestWhoseAFieldIs(t *testing.T) {
	replicas := ownership.ObjectContext{Scale: fieldpath.MakePathOrDie("spec", "replicas")}
	targeted := ownership.ObjectContext{Scale: replicas.Scale, Autoscaler: "HorizontalPodAutoscaler web"}
	ruled := ownership.ObjectContext{Controlled: []ownership.Pattern{{fieldpath.MatchAnyPathElement()}}}
	size := `{"f:spec":{"f:replicas":{}}}`
	for name, c := range map[string]fieldsCase{
		"the manifest's, client-side: the annotation declares it": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{"replicas":3}}`, claimOf(clientSide, "T", `{`+annotated+`,"f:spec":{"f:replicas":{}}}`)),
			want: []string{".spec.replicas=3 Manifest kubectl-client-side-apply T [kubectl-client-side-apply/Update] sets it"},
		},
		"the API server's, client-side: the applier claims it, its annotation lacks it": {
			live: liveWith(`,"spec":{"replicas":1}`, `{"spec":{}}`, claimOf(clientSide, "T", `{`+annotated+`,"f:spec":{"f:replicas":{}}}`)),
			want: []string{".spec.replicas=1 Default [kubectl-client-side-apply/Update]"},
		},
		"the manifest's, without an annotation": {
			live: liveWith(`,"spec":{"replicas":3}`, "", claimOf("helm/Update", "T", size)),
			want: []string{".spec.replicas=3 Manifest helm T [helm/Update]"},
		},
		"the manifest's, beside an annotation that is another's": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{}}`, claimOf("helm/Update", "T", size)),
			want: []string{".spec.replicas=3 Manifest helm T [helm/Update]"},
		},
		"the manifest's, server-side": {
			live: liveWith(`,"spec":{"replicas":3}`, "", claimOf("anybody/Apply", "T", size)),
			want: []string{".spec.replicas=3 Manifest anybody T [anybody/Apply]"},
		},
		"the manifest's: the annotation declares it and nobody claims it": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{"replicas":3}}`, claimOf("helm/Update", "T", `{}`)),
			want: []string{".spec.replicas=3 Manifest [] sets it"},
		},
		"nobody's": {
			live: liveWith(`,"spec":{"replicas":1}`, "", claimOf("helm/Update", "T", `{"f:spec":{".":{},"f:paused":{}}}`)),
			want: []string{".spec.replicas=1 Default []", ".spec.paused= Manifest helm T [helm/Update]"},
		},
		"a person's, over what the manifest declares": {
			live: liveWith(`,"spec":{"replicas":5}`, `{"spec":{"replicas":3}}`, claimOf("kubectl-patch/Update", "T", size)),
			want: []string{".spec.replicas=5 Imperative kubectl-patch T [kubectl-patch/Update] sets it to 3"},
		},
		"a person's, that the manifest agrees to": {
			live: liveWith(`,"spec":{"replicas":5}`, "", claimOf("helm/Apply", "T1", size), claimOf("kubectl-edit/Update", "T2", size)),
			want: []string{".spec.replicas=5 Imperative kubectl-edit T2 [kubectl-edit/Update helm/Apply]"},
		},
		"an unlisted client's, which counts as a person's": {
			live: liveWith(`,"spec":{"replicas":5}`, "", claimOf("operator/Update", "T", size)),
			want: []string{".spec.replicas=5 Imperative operator T [operator/Update]"},
		},
		"a controller's, by a rule": {
			context: ruled,
			live:    liveWith(`,"spec":{"replicas":5}`, "", claimOf("operator/Update", "T", size)),
			want:    []string{".spec.replicas=5 Controller operator T [operator/Update]"},
		},
		"a person's, although a rule gives it to controllers": {
			context: ruled,
			live:    liveWith(`,"spec":{"replicas":5}`, "", claimOf("kubectl-edit/Update", "T", size)),
			want:    []string{".spec.replicas=5 Imperative kubectl-edit T [kubectl-edit/Update]"},
		},
		"an autoscaler's, which targets the object; its entry has no time": {
			context: targeted,
			live: liveWith(`,"spec":{"replicas":7,"paused":true}`, `{"spec":{"replicas":3}}`,
				claimOf("kubectl/Apply", "T", size), claimOf("kube-controller-manager/Update/scale", "", size)),
			want: []string{
				".spec.replicas=7 Autoscaler HorizontalPodAutoscaler web [kube-controller-manager/Update/scale kubectl/Apply] sets it to 3",
				".spec.paused=true Default []",
			},
		},
		"an autoscaler's, which has never scaled": {
			context: targeted,
			live:    liveWith(`,"spec":{"replicas":7}`, "", claimOf("helm/Update", "T", size)),
			want:    []string{".spec.replicas=7 Autoscaler HorizontalPodAutoscaler web [helm/Update]"},
		},
		"an autoscaler's, by the list": {
			context: replicas,
			live:    liveWith(`,"spec":{"replicas":7}`, "", claimOf("helm/Update", "T", size), claimOf("keda/Update/scale", "", size)),
			want:    []string{".spec.replicas=7 Autoscaler keda [keda/Update/scale helm/Update]"},
		},
		"whoever has scaled, without an autoscaler": {
			context: replicas,
			live:    liveWith(`,"spec":{"replicas":7}`, "", claimOf("kubectl/Update/scale", "", size)),
			want:    []string{".spec.replicas=7 Imperative kubectl [kubectl/Update/scale]"},
		},
		"null in the manifest": {
			live: liveWith(`,"spec":{"replicas":1}`, `{"spec":{"replicas":null}}`, claimOf(clientSide, "T", size)),
			want: []string{".spec.replicas=1 Manifest kubectl-client-side-apply T [kubectl-client-side-apply/Update] null"},
		},
	} {
		t.Run(name, c.run)
	}
}

func TestWhoseAFieldIsWithoutARecordOfItsWriter(t *testing.T) {
	size := `{"f:spec":{"f:replicas":{}}}`
	for name, c := range map[string]fieldsCase{
		"managedFields were taken away": {
			live: liveWith(`,"spec":{"replicas":3},"status":{"ready":1}`, ""),
			want: []string{".spec.replicas=3 Unknown []", ".status.ready=1 Unknown []"},
		},
		"managedFields were taken away, and the annotation declares the value": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{"replicas":3}}`),
			want: []string{".spec.replicas=3 Manifest [] sets it"},
		},
		"managedFields were taken away, and the annotation declares another value": {
			live: liveWith(`,"spec":{"replicas":5}`, `{"spec":{"replicas":3}}`),
			want: []string{".spec.replicas=5 Unknown [] sets it to 3"},
		},
		"managedFields were taken away, and an autoscaler targets the object": {
			context: ownership.ObjectContext{Scale: fieldpath.MakePathOrDie("spec", "replicas"), Autoscaler: "HPA web"},
			live:    liveWith(`,"spec":{"replicas":3}`, ""),
			want:    []string{".spec.replicas=3 Autoscaler HPA web []"},
		},
		"an empty list of managedFields is none": {
			live: `{"metadata":{"managedFields":[]},"spec":{"replicas":3}}`,
			want: []string{".spec.replicas=3 Unknown []"},
		},
		"only ancient changes": {
			live: liveWith(`,"spec":{"replicas":3}`, "", claimOf("ancient-changes/Update", "T", size)),
			want: []string{".spec.replicas=3 Unknown [ancient-changes/Update]"},
		},
		"only what was before the first apply": {
			live: liveWith(`,"spec":{"replicas":3}`, "", claimOf("before-first-apply/Update", "T", size)),
			want: []string{".spec.replicas=3 Unknown [before-first-apply/Update]"},
		},
		"what was before the first apply, and a person": {
			live: liveWith(`,"spec":{"replicas":3}`, "", claimOf("before-first-apply/Update", "T", size), claimOf("kubectl-edit/Update", "T2", size)),
			want: []string{".spec.replicas=3 Imperative kubectl-edit T2 [kubectl-edit/Update before-first-apply/Update]"},
		},
		"what was before the first apply, and the manifest declares it": {
			live: liveWith(`,"spec":{"replicas":3}`, `{"spec":{"replicas":3}}`, claimOf("before-first-apply/Update", "T", size)),
			want: []string{".spec.replicas=3 Manifest [before-first-apply/Update] sets it"},
		},
	} {
		t.Run(name, c.run)
	}
}

func TestFieldsOfStatusBelongToTheWriterOfItsSubresource(t *testing.T) {
	ready := `{"f:status":{"f:ready":{}}}`
	for name, c := range map[string]fieldsCase{
		"a controller": {
			live: liveWith(`,"status":{"ready":1,"seen":2}`, `{"status":{"ready":0}}`, claimOf("kube-controller-manager/Update/status", "T", ready)),
			want: []string{
				".status.ready=1 Controller kube-controller-manager T [kube-controller-manager/Update/status] sets it to 0",
				".status.seen=2 Default []",
			},
		},
		"a controller that applies, beside one who writes the whole object": {
			live: liveWith(`,"status":{"ready":1}`, "", claimOf("helm/Update", "T1", ready), claimOf("agent/Apply/status", "T2", ready)),
			want: []string{".status.ready=1 Controller agent T2 [agent/Apply/status helm/Update]"},
		},
		"a person": {
			live: liveWith(`,"status":{"ready":1}`, "", claimOf("kubectl-edit/Update/status", "T", ready)),
			want: []string{".status.ready=1 Imperative kubectl-edit T [kubectl-edit/Update/status]"},
		},
		"without a status subresource, as any field": {
			live: liveWith(`,"status":{"ready":1}`, "", claimOf("operator/Update", "T", ready)),
			want: []string{".status.ready=1 Imperative operator T [operator/Update]"},
		},
		"what its writer claims elsewhere is as any field": {
			live: liveWith(`,"spec":{"ready":1}`, "", claimOf("operator/Update/status", "T", `{"f:spec":{"f:ready":{}}}`)),
			want: []string{".spec.ready=1 Imperative operator T [operator/Update/status]"},
		},
	} {
		t.Run(name, c.run)
	}
}

func TestAnObjectThatCannotBeReadIsAnErrorThatNamesWhatIsBroken(t *testing.T) {
	for name, c := range map[string]struct {
		live string
		want error
		says string
	}{
		"managedFields are no list":             {`{"metadata":{"managedFields":{}}}`, ownership.ErrManagedFields, "they are no list"},
		"an entry is no object":                 {`{"metadata":{"managedFields":[{},1]}}`, ownership.ErrManagedFields, "entry 2"},
		"a manager is no string":                {`{"metadata":{"managedFields":[{"manager":1}]}}`, ownership.ErrManagedFields, "entry 1: a string"},
		"a set is no object":                    {`{"metadata":{"managedFields":[{"fieldsV1":[]}]}}`, ownership.ErrManagedFields, "fieldsV1"},
		"a set cannot be parsed":                {liveWith("", "", claimOf("me/Update", "", `{"k:x":{}}`)), ownership.ErrManagedFields, "the set of me"},
		"the annotation is no JSON":             {liveWith("", `{"spec":`), ownership.ErrLastApplied, ""},
		"the annotation is no object":           {liveWith("", `[]`), ownership.ErrLastApplied, "not a JSON object"},
		"the annotation is no string":           {`{"metadata":{"annotations":{"` + ownership.LastAppliedAnnotation + `":1}}}`, ownership.ErrLastApplied, "no string"},
		"the annotation is empty":               {`{"metadata":{"annotations":{"` + ownership.LastAppliedAnnotation + `":""}}}`, ownership.ErrLastApplied, ""},
		"the annotation repeats a name":         {liveWith("", `{"a":1,"a":2}`), ownership.ErrLastApplied, "duplicate"},
		"the annotation goes on behind its end": {liveWith("", `{} {}`), ownership.ErrLastApplied, "more after the value"},
	} {
		t.Run(name, func(t *testing.T) {
			fields, err := ownership.ObjectContext{}.Fields(parseLive(t, c.live))
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("got %v, want %v that says %q", err, c.want, c.says)
			}
			if fields != nil {
				t.Errorf("fields beside an error: %v", linesOf(fields))
			}
		})
	}
}
