package ownership_test

import (
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// kubectl apply set paused, a user ran kubectl scale, and the API server defaulted minReadySeconds.
const exampleObject = `{
  "metadata": {
    "name": "web",
    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"spec\":{\"paused\":true}}"},
    "managedFields": [
      {"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "apps/v1", "time": "2026-01-02T03:04:05Z",
       "fieldsV1": {"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}},
                    "f:spec": {"f:paused": {}, "f:minReadySeconds": {}}}},
      {"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1", "subresource": "scale",
       "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    ]
  },
  "spec": {"paused": true, "minReadySeconds": 0, "replicas": 3}
}`

func exampleContext() ownership.ObjectContext {
	return ownership.ObjectContext{
		Managers: ownership.Managers{Appliers: []string{"kubectl-client-side-apply"}, Imperative: []string{"kubectl"}},
		Scale:    fieldpath.MakePathOrDie("spec", "replicas"),
	}
}

// OwnedFields returns the owner of each field of an object. The client that creates an object also manages its defaults; the
// last-applied configuration shows that minReadySeconds is one.
func ExampleObjectContext_OwnedFields() {
	live, err := ownership.ParseObject([]byte(exampleObject))
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := exampleContext().OwnedFields(live)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, field := range fields {
		fmt.Printf("%s=%s %s %q\n", field.Path, field.Value, field.Owner.Kind, field.Owner.By)
	}
	// Output:
	// .spec.paused=true Manifest "kubectl-client-side-apply"
	// .spec.minReadySeconds=0 Default ""
	// .spec.replicas=3 Imperative "kubectl"
}
