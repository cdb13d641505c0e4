package accepted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/ownership"
)

const (
	lastApplied    = corev1.LastAppliedConfigAnnotation
	modeAnnotation = ownership.ModeAnnotation
	clientSide     = "kubectl-client-side-apply"
	serverSide     = "kubectl"
	controller     = "tuner"
	scaler         = "kube-controller-manager"
)

// stage is the object of a sequence.
type stage struct {
	kind kind
	name string
	// server reports whether manifests are applied with server-side apply.
	server bool
	// creator is the field manager that creates the object; empty means the applier. If saved is set, the creator writes
	// last-applied.
	creator string
	saved   bool
	// kubectl reports whether manifests are applied with kubectl, and compared with the requests of this package.
	kubectl bool

	schemas schemas
	// live is the stored object, nil before it is created.
	live *unstructured.Unstructured
	// base is the previous manifest of a server-side applier.
	base map[string]any
}

// setting sets the value at a place, or removes it if gone is set.
type setting struct {
	at    string
	value any
	gone  bool
}

// step is a write of a sequence: an apply, an edit or a write to /scale.
type step struct {
	by       string
	manifest manifest
	sets     []setting
	put      bool
	scales   bool
	replicas int64
}

func (s *stage) empty() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(s.kind.gvk)
	o.SetNamespace(s.kind.namespace())
	o.SetName(s.name)
	return o
}

// answer is the API server's response to a write.
type answer struct {
	object   *unstructured.Unstructured
	warnings []string
	err      error
}

// request is the request of a write.
type request struct {
	patch types.PatchType
	body  []byte
	by    string
}

// nothing reports whether kubectl would send nothing.
func (r request) nothing() bool { return string(r.body) == "{}" }

func (s *stage) send(ctx context.Context, r request, options ...client.PatchOption) (a answer) {
	a.object = s.empty()
	if r.nothing() {
		a.object = s.live.DeepCopy()
		return a
	}
	ctx = context.WithValue(ctx, warningsKey{}, &a.warnings)
	options = append(options, client.FieldOwner(r.by))
	if r.patch == types.ApplyPatchType {
		options = append(options, client.ForceOwnership)
	}
	a.err = cluster.client.Patch(ctx, a.object, client.RawPatch(r.patch, r.body), options...)
	return a
}

// applying returns the request of an apply of a manifest to a live object.
func (s *stage) applying(live *unstructured.Unstructured, declared map[string]any) (request, error) {
	if s.server {
		body, err := json.Marshal(declared)
		return request{types.ApplyPatchType, body, serverSide}, err
	}
	modified, err := recorded(declared)
	if err != nil {
		return request{}, err
	}
	current, err := live.MarshalJSON()
	if err != nil {
		return request{}, err
	}
	schema, err := s.schema()
	if err != nil {
		return request{}, err
	}
	var original []byte
	if text, ok := live.GetAnnotations()[lastApplied]; ok {
		original = []byte(text)
	}
	body, err := strategicpatch.CreateThreeWayMergePatch(original, modified, current, schema, true)
	return request{types.StrategicMergePatchType, body, clientSide}, err
}

func (s *stage) schema() (strategicpatch.PatchMetaFromStruct, error) {
	typed, err := scheme.Scheme.New(s.kind.gvk)
	if err != nil {
		return strategicpatch.PatchMetaFromStruct{}, err
	}
	return strategicpatch.NewPatchMetaFromStruct(typed)
}

// recorded returns a manifest as kubectl apply merges it, with the annotation last-applied
// (util.GetModifiedConfiguration of k8s.io/kubectl).
func recorded(declared map[string]any) ([]byte, error) {
	metadata, annotations := map[string]any{}, map[string]any{}
	if own, ok := declared["metadata"].(map[string]any); ok {
		maps.Copy(metadata, own)
	}
	if own, ok := metadata["annotations"].(map[string]any); ok {
		maps.Copy(annotations, own)
	}
	metadata["annotations"] = annotations
	sent := maps.Clone(declared)
	sent["metadata"] = metadata
	text, err := json.Marshal(sent)
	if err != nil {
		return nil, err
	}
	annotations[lastApplied] = string(text) + "\n"
	return json.Marshal(sent)
}

// switchedOff returns the same request with the annotation that turns handoff off for the object.
func (r request) switchedOff() (request, error) {
	if r.nothing() {
		return r, nil
	}
	var body map[string]any
	if err := utiljson.Unmarshal(r.body, &body); err != nil {
		return r, err
	}
	setAt(body, []string{"metadata", "annotations", modeAnnotation}, "off")
	text, err := json.Marshal(body)
	r.body = text
	return r, err
}

// create creates the object as its creator.
func (s *stage) create(ctx context.Context, declared map[string]any) (err error) {
	by := s.creator
	switch {
	case by == "" && s.server:
		r, err := s.applying(nil, declared)
		if err != nil {
			return err
		}
		a := s.send(ctx, r)
		s.live, s.base = a.object, declared
		return a.err
	case by == "":
		by = clientSide
		fallthrough
	case s.saved:
		text, err := recorded(declared)
		if err != nil {
			return err
		}
		if err := utiljson.Unmarshal(text, &declared); err != nil {
			return err
		}
	}
	s.live = &unstructured.Unstructured{Object: runtime.DeepCopyJSON(declared)}
	return cluster.client.Create(ctx, s.live, client.FieldOwner(by))
}

var errNoChange = errors.New("the edit changes nothing")

// edit runs a write of a user or a controller.
func (s *stage) edit(ctx context.Context, e step) error {
	changed := s.live.DeepCopy()
	for _, set := range e.sets {
		if set.gone {
			removeAt(changed.Object, strings.Split(set.at, "/"))
		} else {
			setAt(changed.Object, strings.Split(set.at, "/"), set.value)
		}
	}
	if e.put {
		if err := cluster.client.Update(ctx, changed, client.FieldOwner(e.by)); err != nil {
			return err
		}
		s.live = changed
		return nil
	}
	before, err := s.live.MarshalJSON()
	if err != nil {
		return err
	}
	after, err := changed.MarshalJSON()
	if err != nil {
		return err
	}
	schema, err := s.schema()
	if err != nil {
		return err
	}
	body, err := strategicpatch.CreateTwoWayMergePatchUsingLookupPatchMeta(before, after, schema)
	if err != nil {
		return err
	}
	r := request{types.StrategicMergePatchType, body, e.by}
	if r.nothing() {
		return errNoChange
	}
	a := s.send(ctx, r)
	if a.err == nil {
		s.live = a.object
	}
	return a.err
}

// removeAt removes the value at a place.
func removeAt(o map[string]any, place []string) {
	parent, _ := getAt(o, place[:len(place)-1])
	name := place[len(place)-1]
	if key, want, isElement := strings.Cut(name, "="); isElement {
		list, _ := parent.([]any)
		if _, i := elementOf(list, key, want); i >= 0 {
			list = append(list[:i:i], list[i+1:]...)
			setList(o, place[:len(place)-1], list)
		}
	} else if members, ok := parent.(map[string]any); ok {
		delete(members, name)
	}
}

func setList(o map[string]any, place []string, list []any) {
	parent, _ := getAt(o, place[:len(place)-1])
	if members, ok := parent.(map[string]any); ok {
		members[place[len(place)-1]] = list
	}
}

// scale runs a write to /scale.
func (s *stage) scale(ctx context.Context, e step) error {
	body := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, e.replicas)
	err := cluster.client.SubResource("scale").Patch(ctx, s.empty(), client.RawPatch(types.MergePatchType, body), client.FieldOwner(e.by))
	if err != nil {
		return err
	}
	return s.read(ctx)
}

func (s *stage) read(ctx context.Context) error {
	s.live = s.empty()
	return cluster.client.Get(ctx, client.ObjectKeyFromObject(s.live), s.live)
}

// target creates a HorizontalPodAutoscaler for the object, and waits until the webhook knows it.
func (s *stage) target(ctx context.Context) error {
	hpa := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
		"metadata": map[string]any{"name": s.name, "namespace": s.kind.namespace()},
		"spec": map[string]any{"maxReplicas": int64(50), "scaleTargetRef": map[string]any{
			"apiVersion": s.kind.gvk.GroupVersion().String(), "kind": s.kind.gvk.Kind, "name": s.name,
		}},
	}}
	if err := cluster.client.Create(ctx, hpa); err != nil {
		return err
	}
	known := func(ctx context.Context) (bool, error) {
		a := s.send(ctx, request{types.MergePatchType, []byte(`{"spec":{"replicas":49}}`), "kubectl-patch"}, client.DryRunAll)
		return len(a.warnings) > 0, a.err
	}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, known)
}

func (s *stage) delete(ctx context.Context) {
	_ = cluster.client.Delete(ctx, s.empty(), client.PropagationPolicy(metav1.DeletePropagationBackground))
	hpa := s.empty()
	hpa.SetAPIVersion("autoscaling/v2")
	hpa.SetKind("HorizontalPodAutoscaler")
	_ = cluster.client.Delete(ctx, hpa)
}
