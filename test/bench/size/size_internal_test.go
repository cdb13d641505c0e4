package size

import (
	"encoding/json"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// measure returns an error unless handoff keeps a field.
func TestEachDimensionIsMeasuredFromItsSmallestSizeOn(t *testing.T) {
	for _, d := range dimensions() {
		t.Run(d.name, func(t *testing.T) {
			s, err := d.measure(t.Context(), d.steps[0])
			if err != nil {
				t.Fatal(err)
			}
			if s.handoff <= 0 || s.reference <= 0 || s.body <= 2*s.object {
				t.Errorf("got %+v", s)
			}
			if len(d.steps) < 3 {
				t.Errorf("%d steps, but a slope needs three", len(d.steps))
			}
		})
	}
}

func TestReviewsHaveTheirSize(t *testing.T) {
	body, err := shape{kept: 3, other: 5, entries: 4}.review()
	if err != nil {
		t.Fatal(err)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		t.Fatal(err)
	}
	var live struct {
		Metadata struct{ ManagedFields []any }
		Data     map[string]string
	}
	if err := json.Unmarshal(review.Request.OldObject.Raw, &live); err != nil {
		t.Fatal(err)
	}
	// The applier and the controller have an entry each as well.
	if len(live.Data) != 3+5 || len(live.Metadata.ManagedFields) != 4+2 {
		t.Errorf("%d keys, %d managedFields entries", len(live.Data), len(live.Metadata.ManagedFields))
	}
}
