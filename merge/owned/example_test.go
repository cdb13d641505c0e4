package owned_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge/owned"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
)

// A merge keeps replicas, which an autoscaler owns, and sets another field.
func ExampleFields() {
	var types schema.Types
	var changes []threeway.Change
	replicas := fieldpath.MakePathOrDie("spec", "replicas")
	fields := owned.Fields{
		Owner: func(path fieldpath.Path) ownership.FieldOwner {
			if path.Equals(replicas) {
				return ownership.FieldOwner{Kind: ownership.Autoscaler, By: "HorizontalPodAutoscaler/web"}
			}
			return ownership.FieldOwner{Kind: ownership.Manifest}
		},
		Scale: replicas,
	}
	manifest := `{"spec":{"replicas":3,"paused":false}}`
	live := `{"spec":{"replicas":10,"paused":true}}`

	options := threeway.Options{Keep: fields.Keep, Report: func(c threeway.Change) { changes = append(changes, c) }}
	merged, err := threeway.Merge(nil, []byte(manifest), []byte(live), types.Of(&appsv1.Deployment{}), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(merged))
	for _, c := range changes {
		fmt.Printf("%s %s: %s -> %s\n", c.Verb, c.Path, c.From, c.To)
	}
	// Output:
	// {"spec":{"replicas":10,"paused":false}}
	// kept .spec.replicas: 10 -> 10
	// set .spec.paused: true -> false
}
