package apply_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// edit is a change of a manifest: the first manifest is applied, other managers write, and the second one is applied.
type edit struct {
	kind string
	// first and second are the manifests as YAML, without apiVersion, kind and name.
	first, second string
	// others are kubectl commands that run in between, with OBJECT for the object. Their arguments are separated by
	// spaces.
	others []string
	// defaulted reports whether the API server sets defaults after the merge, for a removed field or in a new element.
	// Otherwise, the merge's result equals the stored object.
	defaulted bool
	// droppedBefore is the first minor version of the API server that stores the fields that the edit changes. Older ones drop
	// them, so that nothing changes.
	droppedBefore uint
}

// isDropped reports whether the API server drops the fields that the edit changes.
func (e edit) isDropped() bool { return !controlPlane.started.Since(e.droppedBefore) }

// nothingChanges is the end of the sentence of an edit that does not change the stored object.
const nothingChanges = "nothing changes"

// edits returns all edits by their sentences.
func edits(t *testing.T) map[string]edit {
	t.Helper()
	all := map[string]edit{}
	for _, family := range []map[string]edit{
		containerEdits(), keyedListEdits(), unionEdits(), customEdits(),
	} {
		for sentence, e := range family {
			if _, twice := all[sentence]; twice {
				t.Fatalf("duplicate edit %q", sentence)
			}
			all[sentence] = e
		}
	}
	return all
}

// deployment returns a manifest of a Deployment with the given pod spec and other fields of its spec.
func deployment(pod string, spec ...string) string {
	spec = append(spec, "selector: {matchLabels: {app: web}}", "template: {metadata: {labels: {app: web}}, spec: {"+pod+"}}")
	return "spec: {" + strings.Join(spec, ", ") + "}"
}

// container returns a manifest of a Deployment whose container has the given fields, with other fields of its pod spec.
func container(fields string, pod ...string) string {
	app := "containers: [{name: app, image: registry.invalid/app, " + fields + "}]"
	return deployment(strings.Join(append([]string{app}, pod...), ", "))
}

// plain is a minimal pod spec.
const plain = "containers: [{name: app, image: registry.invalid/app}]"

// apiVersion of a kind.
func apiVersion(kind string) string {
	switch kind {
	case "Deployment":
		return "apps/v1"
	case "Gadget":
		return "apply.example.com/v1"
	default:
		return "v1"
	}
}

// manifest returns the manifest of an object with the given name.
func (e edit) manifest(text, name string) (map[string]any, error) {
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("parsing a manifest: %w", err)
	}
	var manifest map[string]any
	if err := utiljson.Unmarshal(asJSON, &manifest); err != nil {
		return nil, fmt.Errorf("parsing a manifest: %w", err)
	}
	manifest["apiVersion"], manifest["kind"] = apiVersion(e.kind), e.kind
	if err := unstructured.SetNestedField(manifest, name, "metadata", "name"); err != nil {
		return nil, fmt.Errorf("setting the name of a manifest: %w", err)
	}
	return manifest, nil
}

// asSent returns a manifest without annotations as kubectl apply merges it: with its namespace and the annotation last-applied
// (util.GetModifiedConfiguration of k8s.io/kubectl).
func asSent(manifest map[string]any, namespace string) ([]byte, error) {
	metadata, annotations := map[string]any{}, map[string]any{}
	if own, ok := manifest["metadata"].(map[string]any); ok {
		maps.Copy(metadata, own)
	}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	metadata["annotations"] = annotations
	sent := maps.Clone(manifest)
	sent["metadata"] = metadata
	recorded, err := json.Marshal(sent)
	if err != nil {
		return nil, fmt.Errorf("encoding a manifest: %w", err)
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(recorded) + "\n"
	if recorded, err = json.Marshal(sent); err != nil {
		return nil, fmt.Errorf("encoding a manifest: %w", err)
	}
	return recorded, nil
}
