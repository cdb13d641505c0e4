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

// edit is one change of a manifest: the first is applied, others write, the second is applied.
type edit struct {
	kind string
	// first and second are the manifests as YAML, without apiVersion, kind and name.
	first, second string
	// others are commands of kubectl by which somebody else writes in between, with OBJECT for what they write. They are
	// split at spaces.
	others []string
	// defaulted says that the API server changes something after the merge: what is let go of has a default, or a new
	// element has. Elsewhere the merge gives what is stored without its help.
	defaulted bool
}

// nothingChanges ends the sentence of an edit after which the API server stores what it has stored before.
const nothingChanges = "nothing changes"

// edits are all of them, by their sentences.
func edits(t *testing.T) map[string]edit {
	t.Helper()
	all := map[string]edit{}
	for _, family := range []map[string]edit{
		fieldEdits(), mapEdits(), containerEdits(), keyedListEdits(), podEdits(), unionEdits(),
		workloadEdits(), jobEdits(), serviceEdits(), accessEdits(), customEdits(),
	} {
		for sentence, e := range family {
			if _, twice := all[sentence]; twice {
				t.Fatalf("two edits are called %q", sentence)
			}
			all[sentence] = e
		}
	}
	return all
}

// deployment is a manifest of a Deployment, a StatefulSet or a DaemonSet: its pods, and what else its spec has.
func deployment(pod string, spec ...string) string {
	spec = append(spec, "selector: {matchLabels: {app: web}}", "template: {metadata: {labels: {app: web}}, spec: {"+pod+"}}")
	return "spec: {" + strings.Join(spec, ", ") + "}"
}

// container is a manifest of a Deployment with one container that has these fields, and what else its pods have.
func container(fields string, pod ...string) string {
	app := "containers: [{name: app, image: registry.invalid/app, " + fields + "}]"
	return deployment(strings.Join(append([]string{app}, pod...), ", "))
}

// plain is a pod with nothing special about it.
const plain = "containers: [{name: app, image: registry.invalid/app}]"

// apiVersion of a kind.
func apiVersion(kind string) string {
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet":
		return "apps/v1"
	case "Job", "CronJob":
		return "batch/v1"
	case "Ingress", "NetworkPolicy":
		return "networking.k8s.io/v1"
	case "HorizontalPodAutoscaler":
		return "autoscaling/v2"
	case "PodDisruptionBudget":
		return "policy/v1"
	case "Role", "RoleBinding", "ClusterRole":
		return "rbac.authorization.k8s.io/v1"
	case "Gadget":
		return "apply.example.com/v1"
	default:
		return "v1"
	}
}

// manifest returns what is given to kubectl, as JSON, of an object with that name.
func (e edit) manifest(text, name string) (map[string]any, error) {
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("read a manifest: %w", err)
	}
	var manifest map[string]any
	if err := utiljson.Unmarshal(asJSON, &manifest); err != nil {
		return nil, fmt.Errorf("read a manifest: %w", err)
	}
	manifest["apiVersion"], manifest["kind"] = apiVersion(e.kind), e.kind
	if err := unstructured.SetNestedField(manifest, name, "metadata", "name"); err != nil {
		return nil, fmt.Errorf("name a manifest: %w", err)
	}
	return manifest, nil
}

// asSent returns a manifest as kubectl apply merges it: in its namespace, and with itself in the annotation last-applied,
// annotations being there even where they are empty. (util.GetModifiedConfiguration of k8s.io/kubectl.)
func asSent(manifest map[string]any, namespace string) ([]byte, error) {
	metadata, annotations := map[string]any{}, map[string]any{}
	if own, ok := manifest["metadata"].(map[string]any); ok {
		maps.Copy(metadata, own)
	}
	if own, ok := metadata["annotations"].(map[string]any); ok {
		for name, value := range own {
			if value == nil {
				value = "" // as kubectl reads annotations
			}
			annotations[name] = value
		}
	}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	metadata["annotations"] = annotations
	sent := maps.Clone(manifest)
	sent["metadata"] = metadata
	recorded, err := json.Marshal(sent)
	if err != nil {
		return nil, fmt.Errorf("write a manifest: %w", err)
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(recorded) + "\n"
	if recorded, err = json.Marshal(sent); err != nil {
		return nil, fmt.Errorf("write a manifest: %w", err)
	}
	return recorded, nil
}
