package apitypes_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

func TestResourcesOfThePodRefuseThoseOfItsContainersOnly(t *testing.T) {
	const live = `{"spec":{"resources":1,"template":{"spec":{"containers":[{"name":"a","resources":{}}]}}}}`
	const incoming = `{"spec":{"resources":2,"template":{"spec":{"resources":{},"containers":[{"name":"a"}]}}}}`
	for sentence, c := range map[string]struct {
		path fieldpath.Path
		want string
	}{
		"of a container":            {fieldpath.MakePathOrDie("spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "a"), "resources"), "the manifest sets resources of the pod"},
		"a label with this name":    {fieldpath.MakePathOrDie("metadata", "labels", "resources"), ""},
		"an annotation, in the pod": {fieldpath.MakePathOrDie("spec", "template", "metadata", "annotations", "resources"), ""},
	} {
		f := apitypes.KeptField{Path: c.path, Live: jsontree.Valid([]byte(live)), Incoming: jsontree.Valid([]byte(incoming))}
		expect.Equal(t, sentence, c.want, f.RefusedUnit())
	}
}

// TestQuantitiesWithHugeExponentsAreNotCompared is about time: parsing the first takes five seconds.
func TestQuantitiesWithHugeExponentsAreNotCompared(t *testing.T) {
	for declared, want := range map[string]bool{`"1e-20000000"`: false, `"1e100"`: false, `"` + strings.Repeat("0", 64) + `1"`: false, `"1e0"`: true, `"1000m"`: true, `1.0`: true} {
		cpu := fieldpath.MakePathOrDie("spec", "containers", fieldpath.KeyByFields("name", "app"), "resources", "limits", "cpu")
		expect.Equal(t, declared, want, apitypes.AsDeclared(cpu, []byte(`"1"`), []byte(declared)))
	}
}
