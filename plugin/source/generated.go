package source

import "github.com/ownership-handoff/handoff/internal/rawjson"

// WithoutGenerated returns an object without its status and without the metadata that the API server generates for it.
func WithoutGenerated(object []byte) []byte {
	object = rawjson.Cut(object, "status")
	for _, name := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		object = rawjson.Cut(object, "metadata", name)
	}
	return object
}
