package twoway_test

import (
	"fmt"

	"github.com/ownership-handoff/handoff/merge/twoway"
)

// In objects of an unknown kind, lists merge by name if all of their elements have one.
func ExampleMerge() {
	manifest, live := `{"listeners":[{"name":"http","port":8080}]}`, `{"listeners":[{"name":"http","port":80,"tls":false}]}`

	merged, err := twoway.Merge([]byte(manifest), []byte(live), nil, twoway.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(merged))
	// Output: {"listeners":[{"name":"http","port":8080,"tls":false}]}
}

// With these options, a patch merges as in kustomize: by the schema of known kinds, with the patch's elements first.
func ExampleKustomize() {
	kustomize := twoway.Kustomize() // reuse it: each call parses the schema
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"proxy"},{"name":"log","$patch":"delete"}]}}}}`
	resource := `{"apiVersion":"apps/v1","kind":"Deployment",
		"spec":{"template":{"spec":{"containers":[{"name":"web"},{"name":"log"}]}}}}`

	options := twoway.Options{Order: twoway.ManifestFirst}
	merged, err := twoway.Merge([]byte(patch), []byte(resource), kustomize, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(merged))
	// Output: {"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{"containers":[{"name":"proxy"},{"name":"web"}]}}}}
}

// A Service has a port 53 for each of two protocols, which the key of its Go type does not distinguish.
func ExampleKustomize_ports() {
	patch := `{"spec":{"ports":[{"port":53,"protocol":"TCP"}]}}`
	resource := `{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":53,"protocol":"UDP"}]}}`

	merged, err := twoway.Merge([]byte(patch), []byte(resource), twoway.Kustomize(), twoway.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(merged))
	// Output: {"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":53,"protocol":"UDP"},{"port":53,"protocol":"TCP"}]}}
}
