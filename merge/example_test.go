package merge_test

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// The manifest has let go of paused and has a new value for replicas. minReadySeconds is somebody else's.
func ExampleThreeWayJSON() {
	var types merge.Types // kept for all objects: it compiles each type once
	base := `{"spec":{"replicas":3,"paused":true}}`
	manifest := `{"spec":{"replicas":5}}`
	live := `{"spec":{"replicas":3,"paused":true,"minReadySeconds":10}}`

	merged, err := merge.ThreeWayJSON([]byte(base), []byte(manifest), []byte(live), types.Of(&appsv1.Deployment{}), merge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(merged))
	// Output: {"spec":{"replicas":5,"minReadySeconds":10}}
}

// With owners, the decision table decides about each field that the merge would change or take away.
func ExampleThreeWayJSON_owners() {
	var types merge.Types
	var changes []merge.Change
	replicas := fieldpath.MakePathOrDie("spec", "replicas")
	options := merge.Options{
		Owner: func(path fieldpath.Path) ownership.Owned {
			if path.Equals(replicas) {
				return ownership.Owned{Owner: ownership.Autoscaler, By: "HorizontalPodAutoscaler web"}
			}
			return ownership.Owned{Owner: ownership.Manifest}
		},
		Scale:   replicas,
		Changes: &changes,
	}
	manifest := `{"spec":{"replicas":3,"paused":false}}`
	live := `{"spec":{"replicas":10,"paused":true}}`

	merged, err := merge.ThreeWayJSON(nil, []byte(manifest), []byte(live), types.Of(&appsv1.Deployment{}), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(merged))
	for _, c := range changes {
		fmt.Printf("%s %s: %s -> %s, row %d\n", c.Verb, c.Path, c.From, c.To, c.Row)
	}
	// Output:
	// {"spec":{"replicas":10,"paused":false}}
	// kept .spec.replicas: 10 -> 10, row 1
	// set .spec.paused: true -> false, row 0
}

// Decoded values merge as texts do.
func ExampleThreeWay() {
	var types merge.Types
	base := map[string]any{"metadata": map[string]any{"finalizers": []any{"a", "b"}}}
	manifest := map[string]any{"metadata": map[string]any{"finalizers": []any{"a", "c"}}}
	live := map[string]any{"metadata": map[string]any{"finalizers": []any{"a", "b", "d"}}}

	merged, err := merge.ThreeWay(base, manifest, live, types.Of(&appsv1.Deployment{}), merge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(merged)
	// Output: map[metadata:map[finalizers:[a c d]]]
}

// What cannot be merged is an InputError, which names the input and the place.
func ExampleInputError() {
	var types merge.Types
	manifest := `{"spec":{"template":{"spec":{"containers":[{"image":"nginx"}]}}}}`
	live := `{"spec":{"template":{"spec":{"containers":[{"name":"web"}]}}}}`

	_, err := merge.ThreeWayJSON(nil, []byte(manifest), []byte(live), types.Of(&appsv1.Deployment{}), merge.Options{})
	var input *merge.InputError
	if errors.As(err, &input) {
		fmt.Println(input.Input, input.Path, errors.Is(err, merge.ErrNoKey))
	}
	// Output: manifest .spec.template.spec.containers[0] true
}

// Of a kind that nothing is known of, lists whose elements all have a name merge by it.
func ExampleTwoWay() {
	source := map[string]any{"listeners": []any{map[string]any{"name": "http", "port": 8080}}}
	destination := map[string]any{"listeners": []any{map[string]any{"name": "http", "port": 80, "tls": false}}}

	merged, err := merge.TwoWay(source, destination, nil, merge.TwoWayOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(merged)
	// Output: map[listeners:[map[name:http port:8080 tls:false]]]
}

// As kustomize merges a patch: the patch's elements come first.
func ExampleTwoWayJSON() {
	var types merge.Types
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"proxy"},{"name":"log","$patch":"delete"}]}}}}`
	resource := `{"spec":{"template":{"spec":{"containers":[{"name":"web"},{"name":"log"}]}}}}`

	schema, options := types.Of(&appsv1.Deployment{}), merge.TwoWayOptions{Order: merge.SourceFirst}
	merged, err := merge.TwoWayJSON([]byte(patch), []byte(resource), schema, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(merged))
	// Output: {"spec":{"template":{"spec":{"containers":[{"name":"proxy"},{"name":"web"}]}}}}
}

// A manifest still sets a field that an autoscaler owns.
func ExampleDecide() {
	decision := merge.Decide(merge.Field{
		Owner: ownership.Autoscaler, Writer: ownership.Applier, Manifest: ownership.Sets, Changed: true, Scale: true,
	})
	fmt.Printf("row %d: %s\n", decision.Row, decision.Verdict)
	// Output: row 1: keep
}
