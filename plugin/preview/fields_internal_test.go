package preview

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// What handoff records is not a field that it acts on.
func TestRecordsAreNotCompared(t *testing.T) {
	o, err := ownership.ParseObject([]byte(
		`{"metadata":{"annotations":{"` + ownership.AppliedAnnotation + `":"{}","` + ownership.LastAppliedAnnotation + `":"{}"},"name":"web"}}`))
	expect.NoError(t, err)
	expect.Equal(t, "object", `{"metadata":{"name":"web"}}`, string(plain(o).Text()))
}

// TestAReasonIsThatOfTheManifestItself has an unchanged manifest, of which kubectl replaces the strategy, and a webhook that adds an annotation.
func TestAReasonIsThatOfTheManifestItself(t *testing.T) {
	const manifest = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"strategy":{"type":"RollingUpdate"}}}`
	object := func(surge, annotations string) ownership.Object {
		o, err := ownership.ParseObject(fmt.Appendf(nil, `{"metadata":{"annotations":{%s%q:%q}},"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":%q}}}}`,
			annotations, ownership.LastAppliedAnnotation, manifest, surge))
		expect.NoError(t, err)
		return o
	}
	a := source.Application{Manifest: &unstructured.Unstructured{}, Managers: config.Default().Managers()}
	expect.NoError(t, a.Manifest.UnmarshalJSON([]byte(manifest)))
	a.Subject = source.Subject{Object: object("50%", ""), Identity: source.Identity{Kind: a.Manifest.GroupVersionKind(), Name: "web"}}
	a.Subject.Context.Managers = a.Managers
	with := object("25%", `"injected":"x",`)
	tried := &trial{application: a, with: with, without: with}
	expect.NoError(t, tried.fill())
	why := map[string]string{}
	for _, f := range tried.preview.Fields {
		why[f.Path] = f.Why
	}
	const other = "set by the API server or a webhook"
	expect.Equal(t, "reasons", map[string]string{".metadata.annotations": other, ".spec.strategy.rollingUpdate.maxSurge": other}, why)
}
