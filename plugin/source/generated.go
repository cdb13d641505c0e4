package source

import (
	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

// WithoutGenerated returns an object without its status and without the metadata that the API server generates for it.
func WithoutGenerated(object []byte) []byte {
	object = rawjson.Cut(object, "status")
	for _, name := range ownership.GeneratedMetadata() {
		object = rawjson.Cut(object, "metadata", name)
	}
	return object
}
