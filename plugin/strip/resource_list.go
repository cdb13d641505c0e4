package strip

import (
	"encoding/json"
	"strings"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// result is an element of the results of a ResourceList
// (https://github.com/kubernetes-sigs/kustomize/blob/master/cmd/config/docs/api-conventions/functions-spec.md).
type result struct {
	Message     string              `json:"message"`
	Severity    string              `json:"severity"`
	ResourceRef *explain.ObjectData `json:"resourceRef,omitempty"`
	Field       *resultField        `json:"field,omitempty"`
}

type resultField struct {
	Path string `json:"path"`
}

// addResults adds what happened to the results of a file that is a ResourceList. If it already has results, and in any other
// file, it changes nothing.
func (f *File) addResults() error {
	stream, err := manifest.Parse(source.Text{Name: f.Name, Content: f.Text})
	if err != nil {
		return err
	}
	root, ok := stream.Root()
	if !ok || root.Value("kind") != "ResourceList" || !strings.HasPrefix(root.Value("apiVersion"), "config.kubernetes.io/") {
		return nil
	}
	results := f.results()
	if len(results) == 0 {
		return nil
	}
	text, err := json.Marshal(results)
	if err != nil {
		return err
	}
	f.Text, err = stream.Add(root, "results", []byte(printable.JSON(string(text))))
	return err
}

func (f *File) results() (results []result) {
	for i := range f.Objects {
		o := &f.Objects[i]
		ref := explain.ObjectOf(o.Subject)
		for j := range o.Fields {
			field, severity := &o.Fields[j], "info"
			if field.Action == Left {
				severity = "warning"
			}
			results = append(results, result{o.sentence(field), severity, &ref, &resultField{explain.Text(field.Path)}})
		}
	}
	for _, gap := range f.Gaps {
		results = append(results, result{Message: gap, Severity: "warning"})
	}
	return results
}
