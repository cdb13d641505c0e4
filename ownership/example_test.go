package ownership_test

import (
	"fmt"
	"strings"

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

// Fields returns the owner of each field of an object. The client that creates an object also manages its defaults; the
// last-applied configuration shows that minReadySeconds is one.
func ExampleObjectContext_Fields() {
	live, err := ownership.ParseObject([]byte(exampleObject))
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := exampleContext().Fields(live)
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

// Fold groups fields for display: a group is the largest object or list of which one owner owns every field.
func ExampleFields_Fold() {
	live, err := ownership.ParseObject([]byte(`{
	  "metadata": {"managedFields": [
	    {"manager": "kubectl", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:host": {}, "f:port": {}}}},
	    {"manager": "kubectl-edit", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:immutable": {}}}
	  ]},
	  "data": {"host": "db", "port": "5432"},
	  "immutable": true
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	managers := ownership.Managers{Appliers: []string{"kubectl"}, Imperative: []string{"kubectl-edit"}}
	fields, err := ownership.ObjectContext{Managers: managers}.Fields(live)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, group := range fields.Fold() {
		fmt.Printf("%s: %d of %s %s\n", group.Path, len(group.Fields), group.Owner.Kind, group.Owner.By)
	}
	// Output:
	// .data: 2 of Manifest kubectl
	// .immutable: 1 of Imperative kubectl-edit
}

// ScaleField returns the scale field of a write with its owner. Here kubectl apply sends a manifest with 2 replicas, and a user has
// scaled to 3.
func ExampleObjectContext_ScaleField() {
	write, err := exampleWrite()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(write.Sender.Writer, write.Sender.Entry.Manager)
	field, _ := exampleContext().ScaleField(write, ownership.Scaler{})
	fmt.Printf("%s: live %s of %s, incoming %s\n", field.Path, field.Live, field.Owner.By, field.Incoming)
	// Output:
	// Applier kubectl-client-side-apply
	// .spec.replicas: live 3 of kubectl, incoming 2
}

// exampleWrite returns the write by which kubectl apply sets the replicas of exampleObject to 2.
func exampleWrite() (w ownership.Write, err error) {
	set := strings.NewReplacer(`"replicas": 3`, `"replicas": 2`, `\"paused\":true`, `\"paused\":true,\"replicas\":2`)
	w.Managers = exampleContext().Managers
	if w.Live, err = ownership.ParseObject([]byte(exampleObject)); err != nil {
		return w, err
	}
	if w.Incoming, err = ownership.ParseObject([]byte(set.Replace(exampleObject))); err != nil {
		return w, err
	}
	if w.LiveEntries, err = w.Live.Entries(); err != nil {
		return w, err
	}
	if w.IncomingEntries, err = w.Incoming.Entries(); err != nil {
		return w, err
	}
	w.Sender = w.SentBy("kubectl-client-side-apply")
	w.Manifests = w.Managers.ManifestsOf(w.Sender, w.Live, w.Incoming, w.LiveEntries)
	return w, nil
}

// Resolve returns the owner of one field. In this example an autoscaler targets the object.
func ExampleObjectContext_Resolve() {
	live, err := ownership.ParseObject([]byte(exampleObject))
	if err != nil {
		fmt.Println(err)
		return
	}
	entries, err := live.Entries()
	if err != nil {
		fmt.Println(err)
		return
	}
	context := exampleContext()
	context.Autoscaler = "HorizontalPodAutoscaler/web"
	owned := context.Resolve(fieldpath.MakePathOrDie("spec", "replicas"), entries, ownership.Lacks)
	fmt.Println(owned.Kind, owned.By)
	// Output: Autoscaler HorizontalPodAutoscaler/web
}

// A pattern matches a field and the fields nested under it.
func ExampleParsePattern() {
	pattern, err := ownership.ParsePattern(`.spec.template.spec.containers[*].resources`)
	if err != nil {
		fmt.Println(err)
		return
	}
	app := fieldpath.KeyByFields("name", "app")
	fmt.Println(pattern.Matches(fieldpath.MakePathOrDie("spec", "template", "spec", "containers", app, "resources", "limits")))
	fmt.Println(pattern.Matches(fieldpath.MakePathOrDie("spec", "template", "spec", "containers", app, "image")))
	// Output:
	// true
	// false
}
