package ledger_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/ledger"
)

const (
	replicas = ".spec.replicas"
	label    = ".metadata.labels.tier"
)

func apply(sets ledger.Values) ledger.Write {
	return ledger.Write{Verb: ledger.Apply, By: "kubectl-client-side-apply", Sets: sets}
}

// TestDiffNamesWhatIsNotAsExpected is about what the ledger reports. What it expects is compared with the API server in test/sequences.
func TestDiffNamesWhatIsNotAsExpected(t *testing.T) {
	u := &unstructured.Unstructured{}
	expect.NoError(t, u.UnmarshalJSON([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"tier":"a"},
		"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"labels\":{\"tier\":\"a\"}}}"},
		"managedFields":[{"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1",
			"fieldsV1":{"f:metadata":{"f:labels":{"f:tier":{}}},"f:spec":{"f:replicas":{}}}}]},"spec":{"replicas":3}}`)))
	stored, err := ledger.NewReader().Read(u)
	expect.NoError(t, err)
	deployment := ledger.Kind{Name: "Deployment", Scale: replicas, Defaults: ledger.Values{replicas: int64(3)}}
	o, _, err := ledger.New(deployment).After(apply(ledger.Values{label: "a"}))
	expect.NoError(t, err)
	if lines := o.Diff(stored); len(lines) > 0 {
		t.Errorf("want no difference, got %q", lines)
	}
	o, _, err = o.After(apply(ledger.Values{label: "b", replicas: int64(3)}))
	expect.NoError(t, err)
	stored.Values[".metadata.labels.added"] = "by nobody"
	want := []string{
		".metadata.labels.added: want <nil>, got by nobody",
		".metadata.labels.tier in last-applied: want b, got a",
		".metadata.labels.tier: want b, got a",
		".spec.replicas in last-applied: want 3, got <nil>",
	}
	lines := o.Diff(stored)
	slices.Sort(lines)
	expect.Equal(t, "differences", want, lines)
	if lines := o.Learn(stored).Diff(stored); len(lines) > 0 {
		t.Errorf("want no difference after Learn, got %q", lines)
	}
}

// TestAWriteByTheManagerOfMostOfLastAppliedCountsAsAnApply is about an operator that changes a field of a rule for another writer.
func TestAWriteByTheManagerOfMostOfLastAppliedCountsAsAnApply(t *testing.T) {
	const ruled, color = ".spec.size", ".spec.color"
	for sentence, test := range map[string]struct {
		manifest ledger.Values
		want     ledger.Outcomes
	}{
		"it manages the only value":        {ledger.Values{label: "a", ruled: int64(1)}, ledger.Outcomes{ruled: ledger.Kept}},
		"it manages one of two values":     {ledger.Values{label: "a", color: "red", ruled: int64(1)}, nil},
		"the only value has another":       {ledger.Values{label: "b", ruled: int64(1)}, nil},
		"it manages the rule's field only": {ledger.Values{ruled: int64(1)}, nil},
	} {
		o := ledger.New(ledger.Kind{Name: "Widget"})
		o.Mode, o.Rules = "enforce", []ledger.Rule{{Fields: ledger.Pattern(ruled), Writers: []string{"tuner"}}}
		edit := func(by string, sets ledger.Values) ledger.Write {
			return ledger.Write{Verb: ledger.Edit, By: by, Sets: sets}
		}
		var got ledger.Outcomes
		for _, w := range []ledger.Write{
			{Verb: ledger.Create, By: "platform", As: ledger.Other, Sets: ledger.Values{color: "red"}},
			edit("operator", ledger.Values{label: "a"}), edit("tuner", ledger.Values{ruled: int64(2)}), apply(test.manifest), edit("operator", ledger.Values{ruled: int64(3)}),
		} {
			var err error
			o, got, err = o.After(w)
			expect.NoError(t, err)
		}
		expect.Equal(t, sentence, test.want, got)
	}
}
