package source

import (
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// Schema returns the schema by which kubectl apply merges the object: that of the Go type for built-in kinds
// (k8s.io/kubectl/pkg/cmd/apply/patcher.go), otherwise that of a JSON merge patch.
func (s Subject) Schema() schema.Schema {
	object, err := scheme.Scheme.New(s.Kind)
	if err != nil {
		return schema.JSONMergePatch()
	}
	return new(schema.Types).Of(object)
}
