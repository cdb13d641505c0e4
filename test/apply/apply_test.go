package apply_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/test/objects"
)

// TestThreeWayMatchesKubectlApply compares the complete objects, including last-applied.
func TestThreeWayMatchesKubectlApply(t *testing.T) {
	t.Parallel()
	for kind, edits := range map[string]map[string]edit{"apps/v1 Deployment": deployments, "apply.example.com/v1 Gadget": gadgetEdits} {
		for sentence, e := range edits {
			t.Run(kind+"/"+sentence, func(t *testing.T) {
				t.Parallel()
				s := stage{T: t, namespace: objects.NewNamespace(t, controlPlane.client, "apply-", "")}
				s.apiVersion, s.kind, _ = strings.Cut(kind, " ")
				s.play(e)
			})
		}
	}
}

// stage is the namespace of an edit and an object with the same name.
type stage struct {
	*testing.T
	namespace, apiVersion, kind string
}

// play runs an edit. The merge is tried before kubectl, because a replacement requires the current resourceVersion. For patches and
// replacements, the API server sets defaults and normalizes quantities: what it stores is compared with a dry run of a replacement.
func (s stage) play(e edit) {
	s.Helper()
	s.kubectl(s.manifest(e.first), "apply", "-f", "-")
	if e.other != "" {
		s.kubectl("", strings.Fields(strings.ReplaceAll(e.other, "OBJECT", s.kind+"/"+s.namespace))...)
	}
	live := s.read()
	replaced := s.merged(live, s.manifest(e.second))
	if err := controlPlane.client.Update(s.Context(), replaced, client.DryRunAll); err != nil {
		s.Errorf("the API server rejects the result of the merge: %v", err)
	}
	s.kubectl(s.manifest(e.second), "apply", "-f", "-")
	if diff := cmp.Diff(own(s.read()), own(replaced)); diff != "" {
		s.Errorf("the object (-stored +merged):\n%s", diff)
	}
}

// merged merges a manifest into live, as kubectl apply sends it: with the annotation last-applied (util.GetModifiedConfiguration of
// k8s.io/kubectl). The base is the last-applied configuration of live.
func (s stage) merged(live *unstructured.Unstructured, manifest map[string]any) *unstructured.Unstructured {
	s.Helper()
	metadata, annotations := map[string]any{"namespace": s.namespace}, map[string]any{}
	if own, ok := manifest["metadata"].(map[string]any); ok {
		maps.Copy(metadata, own)
	}
	metadata["annotations"] = annotations
	sent := maps.Clone(manifest)
	sent["metadata"] = metadata
	annotations[corev1.LastAppliedConfigAnnotation] = string(s.encode(sent)) + "\n"
	base := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	result, err := threeway.Merge([]byte(base), s.encode(sent), s.encode(live), schemaOf(live), threeway.Options{})
	if err != nil {
		s.Fatal(err)
	}
	merged := &unstructured.Unstructured{}
	if err := merged.UnmarshalJSON(result); err != nil {
		s.Fatal(err)
	}
	return merged
}

// schemaOf returns the schema that kubectl apply uses for an object: that of its Go type if there is one.
func schemaOf(o *unstructured.Unstructured) schema.Schema {
	typed, err := clientgoscheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return schema.JSONMergePatch()
	}
	var types schema.Types
	return types.Of(typed)
}

// own returns an object without the fields that the API server sets with each write.
func own(o *unstructured.Unstructured) map[string]any {
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	delete(o.Object, "status")
	return o.Object
}

// manifest returns the manifest of the stage's object.
func (s stage) manifest(text string) map[string]any {
	s.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte("{" + text + "}"))
	if err != nil {
		s.Fatal(err)
	}
	var manifest map[string]any
	if err := utiljson.Unmarshal(asJSON, &manifest); err != nil {
		s.Fatal(err)
	}
	manifest["apiVersion"], manifest["kind"] = s.apiVersion, s.kind
	if err := unstructured.SetNestedField(manifest, s.namespace, "metadata", "name"); err != nil {
		s.Fatal(err)
	}
	return manifest
}

func (s stage) encode(value any) []byte {
	s.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		s.Fatal(err)
	}
	return text
}

// kubectl runs a command in the stage's namespace, with an object as its standard input.
func (s stage) kubectl(stdin any, args ...string) {
	s.Helper()
	if err := kubectl(s.Context(), string(s.encode(stdin)), append([]string{"--namespace", s.namespace}, args...)...); err != nil {
		s.Fatal(err)
	}
}

func (s stage) read() *unstructured.Unstructured {
	s.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": s.apiVersion, "kind": s.kind}}
	if err := controlPlane.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: s.namespace}, o); err != nil {
		s.Fatal(err)
	}
	return o
}
