package preview

import (
	"fmt"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

func TestTheReasonInAWarning(t *testing.T) {
	replicas := fieldpath.MakePathOrDie("spec", "replicas")
	for sentence, c := range map[string]struct {
		warning string
		path    fieldpath.Path
		value   string
		want    string
	}{
		"a kept value": {
			"handoff: kept .spec.replicas=7, owned by HorizontalPodAutoscaler/web; remove it from the manifest", replicas, "7",
			"kept, owned by HorizontalPodAutoscaler/web; remove it from the manifest",
		},
		"a text with a comma and a space": {
			"handoff: kept .spec.x=a, b, owned by bot", fieldpath.MakePathOrDie("spec", "x"), `"a, b"`, "kept, owned by bot",
		},
		"a value that is not shown": {
			"handoff: kept .data.password, set by kubectl-patch and no longer in the manifest", fieldpath.MakePathOrDie("data", "password"), `"s"`,
			"kept, set by kubectl-patch and no longer in the manifest",
		},
		"a new object": {
			"handoff: started with .spec.replicas=7, owned by HorizontalPodAutoscaler/web", replicas, "7",
			"started, owned by HorizontalPodAutoscaler/web",
		},
		"the owner first": {
			"handoff: HorizontalPodAutoscaler/web owns .spec.replicas and may revert this change", replicas, "7",
			"HorizontalPodAutoscaler/web owns and may revert this change",
		},
		"a field above it": { // which is kept as a whole
			"handoff: kept .spec.x, owned by bot", fieldpath.MakePathOrDie("spec", "x", "min"), "7", "kept, owned by bot",
		},
		"a field nested under it": { // the object of a kept label differs as a whole if the manifest has dropped its only label
			"handoff: kept .spec.replicas.min=7", replicas, "7", "kept .spec.replicas.min=7",
		},
		"a field with a longer name":       {"handoff: kept .spec.replicasMax=7", replicas, "7", ""},
		"a path of which the front is cut": {"handoff: kept ...replicas, owned by bot", replicas, "7", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			object := jsontree.Valid(fmt.Appendf(nil, `{"spec":{"replicas":%[1]s,"x":%[1]s},"data":{"password":%[1]s}}`, c.value))
			r := trial{warnings: []string{c.warning}, used: map[string]bool{}}
			if _, got := r.said(c.path, object); got != c.want || r.used[c.warning] != (c.want != "") {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

// What handoff records is not a field that it acts on.
func TestRecordsAreNotCompared(t *testing.T) {
	o, err := ownership.ParseObject([]byte(
		`{"metadata":{"annotations":{"` + ownership.AppliedAnnotation + `":"{}","` + ownership.LastAppliedAnnotation + `":"{}"},"name":"web"}}`))
	if got, want := string(plain(o).Text()), `{"metadata":{"name":"web"}}`; err != nil || got != want {
		t.Errorf("want %s, got %s, %v", want, got, err)
	}
}
