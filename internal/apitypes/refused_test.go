package apitypes_test

import (
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
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
		if got := f.RefusedUnit(); got != c.want {
			t.Errorf("%s: want %q, got %q", sentence, c.want, got)
		}
	}
}
