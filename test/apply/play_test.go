package apply_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/objects"
)

// stage is the namespace of an edit and an object with the same name.
type stage struct {
	ctx       context.Context //nolint:containedctx // a stage exists only during one test
	edit      edit
	namespace string
}

func newStage(t *testing.T, e edit) *stage {
	t.Helper()
	s := &stage{ctx: t.Context(), edit: e, namespace: objects.NewNamespace(t, controlPlane.client, "apply-", "")}
	// No controller creates the default ServiceAccount here, and Pods require it.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "default"}}
	if err := controlPlane.client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	return s
}

// outcome is the result of an edit, without the fields that the API server sets.
type outcome struct {
	// live is the object before the second apply, stored the object after it.
	live, stored map[string]any
	// merged is the result of the merge.
	merged map[string]any
	// replaced is merged as the API server would store it, from a dry run of a replacement. For patches and replacements,
	// the API server sets defaults and normalizes quantities; stored is therefore compared with replaced.
	replaced map[string]any
	// refused is the API server's error if it rejects the merged object.
	refused error
}

// play runs an edit. The merge is tried before kubectl, because a replacement requires the current resourceVersion.
func (s *stage) play(try merger) (outcome, error) {
	if err := s.apply(s.edit.first); err != nil {
		return outcome{}, err
	}
	for _, command := range s.edit.others {
		if err := s.kubectl("", strings.Fields(strings.ReplaceAll(command, "OBJECT", s.edit.kind+"/"+s.namespace))...); err != nil {
			return outcome{}, err
		}
	}
	live, err := s.read()
	if err != nil {
		return outcome{}, err
	}
	merged, err := s.merge(live, try)
	if err != nil {
		return outcome{}, err
	}
	replaced := &unstructured.Unstructured{Object: merged.DeepCopy().Object}
	refused := controlPlane.client.Update(s.ctx, replaced, client.DryRunAll)
	if err := s.apply(s.edit.second); err != nil {
		return outcome{}, err
	}
	stored, err := s.read()
	if err != nil {
		return outcome{}, err
	}
	return outcome{live: own(live), stored: own(stored), merged: own(merged), replaced: own(replaced), refused: refused}, nil
}

// merge merges the second manifest as kubectl apply sends it into live. The base is the last-applied configuration of live.
func (s *stage) merge(live *unstructured.Unstructured, try merger) (*unstructured.Unstructured, error) {
	manifest, err := s.edit.manifest(s.edit.second, s.namespace)
	if err != nil {
		return nil, err
	}
	sent, err := asSent(manifest, s.namespace)
	if err != nil {
		return nil, err
	}
	text, err := live.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding live: %w", err)
	}
	base := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	result, err := try([]byte(base), sent, text, schemaOf(live))
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	merged := &unstructured.Unstructured{}
	if err := merged.UnmarshalJSON(result); err != nil {
		return nil, fmt.Errorf("parsing the result of the merge: %w", err)
	}
	return merged, nil
}

// own returns an object without the fields that the API server sets with each write.
func own(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	delete(o.Object, "status")
	return o.Object
}

// apply runs kubectl apply.
func (s *stage) apply(text string) error {
	manifest, err := s.edit.manifest(text, s.namespace)
	if err != nil {
		return err
	}
	stdin, err := json.Marshal(manifest)
	if err != nil {
		return fmt.Errorf("encoding a manifest: %w", err)
	}
	return s.kubectl(string(stdin), "apply", "-f", "-")
}

func (s *stage) kubectl(stdin string, args ...string) error {
	cmd := exec.CommandContext(s.ctx, controlPlane.started.Kubectl, append([]string{"--namespace", s.namespace}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

// object returns the stage's object with only its kind, name and namespace.
func (s *stage) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion(s.edit.kind))
	o.SetKind(s.edit.kind)
	o.SetNamespace(s.namespace)
	o.SetName(s.namespace)
	return o
}

func (s *stage) read() (*unstructured.Unstructured, error) {
	o := s.object()
	if err := controlPlane.client.Get(s.ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	return o, nil
}
