package threeway_test

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// The fields of a custom resource merge by the schema of its definition. With a nil schema, they merge as by a JSON merge patch.
func ExampleMerge_customResource() {
	definition := []byte(`{"type":"object","properties":{"spec":{"type":"object","properties":{
		"hosts":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}}}`)
	manifest, live := []byte(`{"spec":{"hosts":["a"]}}`), []byte(`{"spec":{"hosts":["b"]}}`)

	gateway, err := schema.OpenAPI(definition)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, by := range []schema.Schema{gateway, nil} {
		merged, err := threeway.Merge(nil, manifest, live, by, threeway.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(string(merged))
	}
	// Output:
	// {"spec":{"hosts":["a","b"]}}
	// {"spec":{"hosts":["a"]}}
}

// Options report the changes of a merge.
func ExampleOptions() {
	var types schema.Types
	var changes []threeway.Change
	options := threeway.Options{Report: func(c threeway.Change) { changes = append(changes, c) }}
	manifest, live := []byte(`{"spec":{"replicas":3,"paused":true}}`), []byte(`{"spec":{"replicas":10}}`)

	merged, err := threeway.Merge(nil, manifest, live, types.Of(&appsv1.Deployment{}), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(merged))
	for _, c := range changes {
		fmt.Println(c.Verb, c.Path)
	}
	// Output:
	// {"spec":{"replicas":3,"paused":true}}
	// set .spec.replicas
	// added .spec.paused
}

// The manifest drops paused and has a new value for replicas. Another client owns minReadySeconds.
func ExampleMerge() {
	var types schema.Types // reuse it: it compiles each type once
	base := `{"spec":{"replicas":3,"paused":true}}`
	manifest := `{"spec":{"replicas":5}}`
	live := `{"spec":{"replicas":3,"paused":true,"minReadySeconds":10}}`

	merged, err := threeway.Merge([]byte(base), []byte(manifest), []byte(live), types.Of(&appsv1.Deployment{}), threeway.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(merged))
	// Output: {"spec":{"replicas":5,"minReadySeconds":10}}
}

// An input that cannot be merged is an InputError, which has the name of the input and the path.
func ExampleInputError() {
	var types schema.Types
	manifest := `{"spec":{"template":{"spec":{"containers":[{"image":"nginx"}]}}}}`
	live := `{"spec":{"template":{"spec":{"containers":[{"name":"web"}]}}}}`

	_, err := threeway.Merge(nil, []byte(manifest), []byte(live), types.Of(&appsv1.Deployment{}), threeway.Options{})
	var input *threeway.InputError
	if errors.As(err, &input) {
		fmt.Println(input.Input, input.Path, errors.Is(err, threeway.ErrNoKey))
	}
	// Output: manifest .spec.template.spec.containers[0] true
}
