package ledger_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/test/ledger"
)

const (
	replicas  = ".spec.replicas"
	label     = ".metadata.labels.tier"
	limit     = `.spec.template.spec.containers[name="a"].resources.limits.cpu`
	request   = `.spec.template.spec.containers[name="a"].resources.requests.cpu`
	image     = `.spec.template.spec.containers[name="a"].image`
	kubectl   = "kubectl-client-side-apply"
	hpa       = "kube-controller-manager"
	flux      = "kustomize-controller"
	sizer     = "sizer"
	someImage = "a:1"
)

func apply(sets ledger.Values) ledger.Write {
	return ledger.Write{Verb: ledger.Apply, By: kubectl, Sets: sets}
}

func serverApply(sets ledger.Values) ledger.Write {
	return ledger.Write{Verb: ledger.ServerApply, By: flux, Sets: sets, Force: true}
}

func scale(by string, n int64) ledger.Write {
	return ledger.Write{Verb: ledger.Scale, By: by, Sets: ledger.Values{replicas: n}}
}

func edit(by string, sets ledger.Values) ledger.Write {
	return ledger.Write{Verb: ledger.Edit, By: by, Sets: sets}
}

// want is what is expected of a field after the last write.
type want struct {
	value    any
	managers []ledger.Entry
	inBase   bool
}

func by(manager string) []ledger.Entry { return []ledger.Entry{{Manager: manager}} }

func scaledBy(manager string) []ledger.Entry {
	return []ledger.Entry{{Manager: manager, Subresource: "scale"}}
}

func TestTheRowsOfTheDecisionTable(t *testing.T) {
	web := ledger.Scaler{Name: "HorizontalPodAutoscaler/web"}
	three, none := ledger.Values{replicas: int64(3), image: someImage}, ledger.Values{image: someImage}
	rule := ledger.Rule{Fields: ledger.Pattern(`.spec.template.spec.containers[*].resources`)}
	editable := ledger.Rule{Fields: rule.Fields, EditApply: true}
	requests := func(cpu string) ledger.Values { return ledger.Values{request: cpu, image: someImage} }
	for name, test := range map[string]struct {
		mode   string // empty stands for enforce
		scaler ledger.Scaler
		rules  []ledger.Rule
		writes []ledger.Write
		path   string
		want   want
	}{
		"row 1: an apply of an autoscaler's replicas": {
			scaler: web, writes: []ledger.Write{apply(three), scale(hpa, 7), apply(three)}, path: replicas,
			want: want{int64(7), scaledBy(hpa), false},
		},
		"in mode warn, the manifest wins": {
			mode: "warn", scaler: web, writes: []ledger.Write{apply(three), scale(hpa, 7), apply(three)}, path: replicas,
			want: want{int64(3), by(kubectl), true},
		},
		"row 2: the manifest drops an autoscaler's replicas": {
			scaler: web, writes: []ledger.Write{apply(three), scale(hpa, 7), apply(none)}, path: replicas,
			want: want{int64(7), scaledBy(hpa), false},
		},
		"row 1, server-side": {
			scaler: web, writes: []ledger.Write{serverApply(three), scale(hpa, 7), serverApply(three)}, path: replicas,
			want: want{int64(7), scaledBy(hpa), false},
		},
		"an autoscaler that never scaled": {
			scaler: web, writes: []ledger.Write{serverApply(three), serverApply(none)}, path: replicas,
			want: want{int64(3), nil, false},
		},
		"row 1: a person's 0 keeps an autoscaler off": {
			scaler: web, writes: []ledger.Write{apply(three), scale("kubectl", 0), apply(three)}, path: replicas,
			want: want{int64(0), nil, false},
		},
		"row 6: the manifest's 0 does not": {
			scaler: web, writes: []ledger.Write{apply(ledger.Values{replicas: int64(0)}), apply(three)}, path: replicas,
			want: want{int64(3), by(kubectl), true},
		},
		"row 3: the manifest drops a person's replicas": {
			writes: []ledger.Write{apply(three), scale("kubectl", 7), apply(none)}, path: replicas,
			want: want{int64(7), scaledBy("kubectl"), false},
		},
		"row 4: the manifest drops its own replicas": {
			writes: []ledger.Write{apply(three), apply(none)}, path: replicas,
			want: want{int64(3), by(kubectl), false},
		},
		"row 4: replicas are null": {
			writes: []ledger.Write{apply(three), apply(ledger.Values{replicas: nil})}, path: replicas,
			want: want{int64(3), by(kubectl), false},
		},
		"row 6: the manifest sets a person's replicas": {
			writes: []ledger.Write{apply(three), scale("kubectl", 7), apply(three)}, path: replicas,
			want: want{int64(3), by(kubectl), true},
		},
		"Helm 3 records nothing": {
			writes: []ledger.Write{{Verb: ledger.Helm, By: "helm", Sets: three}, {Verb: ledger.Helm, By: "helm", Sets: none}}, path: replicas,
			want: want{int64(1), by("helm"), false},
		},
		"row 3: the manifest drops a person's label": {
			writes: []ledger.Write{apply(ledger.Values{label: "a", image: someImage}), edit("kubectl-label", ledger.Values{label: "b"}), apply(none)}, path: label,
			want: want{"b", by("kubectl-label"), false},
		},
		"row 5: the manifest drops its own label": {
			writes: []ledger.Write{apply(ledger.Values{label: "a", image: someImage}), apply(none)}, path: label,
			want: want{},
		},
		"row 5: the manifest drops a field that is no unit": {
			writes: []ledger.Write{apply(three), edit("kubectl-set", ledger.Values{image: "a:2"}), apply(ledger.Values{replicas: int64(3)})}, path: image,
			want: want{},
		},
		"row 6: the manifest sets another field of a unit": {
			writes: []ledger.Write{
				apply(ledger.Values{limit: "2", image: someImage}), edit("kubectl-set", ledger.Values{limit: "4"}), apply(requests("1")),
			}, path: limit,
			want: want{},
		},
		"row 8: null for a unit": {
			writes: []ledger.Write{
				apply(ledger.Values{label: "a"}), edit("kubectl-label", ledger.Values{label: "b"}), apply(ledger.Values{label: nil}),
			}, path: label,
			want: want{nil, nil, true},
		},
		"a rule: the controller's value stays": {
			rules: []ledger.Rule{rule}, writes: []ledger.Write{apply(requests("1")), edit(sizer, ledger.Values{request: "5"}), apply(requests("2"))}, path: request,
			want: want{"5", by(sizer), false},
		},
		"a rule: what no controller has written is the manifest's": {
			rules: []ledger.Rule{rule}, writes: []ledger.Write{apply(requests("1")), edit("kubectl-set", ledger.Values{request: "5"}), apply(requests("2"))}, path: request,
			want: want{"2", by(kubectl), true},
		},
		"a rule: a server-side manifest that never had the field": {
			rules: []ledger.Rule{rule}, writes: []ledger.Write{apply(requests("1")), edit(sizer, ledger.Values{request: "5"}), serverApply(none)}, path: request,
			want: want{"5", by(sizer), true},
		},
		"row 10: a server-side apply of nothing but replicas": {
			scaler: web, writes: []ledger.Write{apply(none), serverApply(ledger.Values{replicas: int64(0)})}, path: replicas,
			want: want{int64(0), []ledger.Entry{{Manager: flux, Apply: true}}, false},
		},
		"edit: apply, and an unchanged manifest": {
			rules: []ledger.Rule{editable}, writes: []ledger.Write{apply(requests("1")), edit(sizer, ledger.Values{request: "5"}), apply(requests("1"))}, path: request,
			want: want{"5", by(sizer), false},
		},
		"edit: apply, and a new value": {
			rules: []ledger.Rule{editable}, writes: []ledger.Write{apply(requests("1")), edit(sizer, ledger.Values{request: "5"}), apply(requests("2"))}, path: request,
			want: want{"2", by(kubectl), true},
		},
		"row 12: a workload that an autoscaler targets already": {
			scaler: ledger.Scaler{Name: web.Name, Desired: 7}, writes: []ledger.Write{apply(three)}, path: replicas,
			want: want{int64(7), by(kubectl), false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := ledger.New(ledger.Kind{Name: "Deployment", Scale: replicas, Defaults: ledger.Values{replicas: int64(1)}})
			o.Mode, o.Scaler, o.Rules = "enforce", test.scaler, test.rules
			if test.mode != "" {
				o.Mode = test.mode
			}
			for _, w := range test.writes {
				var err error
				if o, _, err = o.After(w); err != nil {
					t.Fatal(err)
				}
			}
			value, _ := o.Value(test.path)
			_, inBase := o.LastApplied()[test.path]
			got := want{value, o.Managers(test.path), inBase}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.path, diff)
			}
		})
	}
}

func TestAServerSideApplyConflictsUnlessItIsForced(t *testing.T) {
	o, _, err := ledger.New(ledger.Kind{Name: "Deployment", Scale: replicas}).After(apply(ledger.Values{replicas: int64(3)}))
	if err != nil {
		t.Fatal(err)
	}
	w := serverApply(ledger.Values{replicas: int64(7)})
	w.Force = false
	if _, _, err := o.After(w); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("want %v, got %v", ledger.ErrConflict, err)
	}
}

func TestDiffNamesWhatIsNotAsExpected(t *testing.T) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"tier":"a"},
		"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"labels\":{\"tier\":\"a\"}}}"},
		"managedFields":[{"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1",
			"fieldsV1":{"f:metadata":{"f:labels":{"f:tier":{}}}}}]},"spec":{"replicas":3}}`)); err != nil {
		t.Fatal(err)
	}
	stored, err := ledger.NewReader().Read(u)
	if err != nil {
		t.Fatal(err)
	}
	o, _, err := ledger.New(ledger.Kind{Name: "Deployment", Scale: replicas}).After(apply(ledger.Values{label: "a"}))
	if err != nil {
		t.Fatal(err)
	}
	if lines := o.Diff(stored); len(lines) > 0 {
		t.Errorf("want no difference, got %q", lines)
	}
	if o, _, err = o.After(apply(ledger.Values{label: "b", replicas: int64(3)})); err != nil {
		t.Fatal(err)
	}
	want := []string{
		".metadata.labels.tier in last-applied: want b, got a",
		".metadata.labels.tier: want b, got a",
		".spec.replicas in last-applied: want 3, got <nil>",
		".spec.replicas: want the managers [{kubectl-client-side-apply false }], got []",
	}
	lines := o.Diff(stored)
	slices.Sort(lines)
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lines := o.Learn(stored).Diff(stored); len(lines) > 0 {
		t.Errorf("want no difference after Learn, got %q", lines)
	}
}
