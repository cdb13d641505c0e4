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
)

// stage is where an edit is played: a namespace, and the object in it, which has its name.
type stage struct {
	ctx       context.Context //nolint:containedctx // a stage lives as long as one test
	edit      edit
	namespace string
	// scope is the namespace as the object has it: empty where that is in none.
	scope string
}

func newStage(t *testing.T, e edit) *stage {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "apply-"}}
	if err := plane.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	s := &stage{ctx: t.Context(), edit: e, namespace: namespace.Name}
	// Nobody else makes it here, and without it no Pod is admitted.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "default"}}
	if err := plane.client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	namespaced, err := plane.client.IsObjectNamespaced(s.object())
	if err != nil {
		t.Fatal(err)
	}
	if namespaced {
		s.scope = namespace.Name
	}
	return s
}

// outcome is what comes of an edit, without what the API server sets by itself.
type outcome struct {
	// live is the object before the second apply, and stored what kubectl apply then made the API server store.
	live, stored map[string]any
	// merged is what the merge makes of live.
	merged map[string]any
	// replaced is merged as the API server would store it. Between a merge and the store it defaults what is missing and
	// writes quantities its own way, for a patch as for a replacement: a dry run of one is what stored compares with.
	replaced map[string]any
	// refused is the API server's answer where it takes no such object.
	refused error
}

// play plays an edit. The merge goes before kubectl, because a replacement has to name the version that it replaces.
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
	refused := plane.client.Update(s.ctx, replaced, client.DryRunAll)
	if err := s.apply(s.edit.second); err != nil {
		return outcome{}, err
	}
	stored, err := s.read()
	if err != nil {
		return outcome{}, err
	}
	return outcome{live: own(live), stored: own(stored), merged: own(merged), replaced: own(replaced), refused: refused}, nil
}

// merge merges the second manifest as kubectl apply sends it into live. Its base is what live has recorded.
func (s *stage) merge(live *unstructured.Unstructured, try merger) (*unstructured.Unstructured, error) {
	manifest, err := s.edit.manifest(s.edit.second, s.namespace)
	if err != nil {
		return nil, err
	}
	sent, err := asSent(manifest, s.scope)
	if err != nil {
		return nil, err
	}
	text, err := live.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("write live: %w", err)
	}
	base := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	result, err := try([]byte(base), sent, text, schemaOf(live))
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	merged := &unstructured.Unstructured{}
	if err := merged.UnmarshalJSON(result); err != nil {
		return nil, fmt.Errorf("read the result of the merge: %w", err)
	}
	return merged, nil
}

// own returns an object without what the API server sets by itself at each write.
func own(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	delete(o.Object, "status")
	return o.Object
}

// apply applies a manifest by the real kubectl.
func (s *stage) apply(text string) error {
	manifest, err := s.edit.manifest(text, s.namespace)
	if err != nil {
		return err
	}
	stdin, err := json.Marshal(manifest)
	if err != nil {
		return fmt.Errorf("write a manifest: %w", err)
	}
	return s.kubectl(string(stdin), "apply", "-f", "-")
}

func (s *stage) kubectl(stdin string, args ...string) error {
	cmd := exec.CommandContext(s.ctx, plane.Kubectl, append([]string{"--namespace", s.namespace}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

// object is the one of the stage, with nothing but its identity.
func (s *stage) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion(s.edit.kind))
	o.SetKind(s.edit.kind)
	o.SetNamespace(s.scope)
	o.SetName(s.namespace)
	return o
}

func (s *stage) read() (*unstructured.Unstructured, error) {
	o := s.object()
	if err := plane.client.Get(s.ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return nil, fmt.Errorf("read the object: %w", err)
	}
	return o, nil
}
