package sequences_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/document"
	"github.com/ownership-handoff/handoff/test/ledger"
	"github.com/ownership-handoff/handoff/test/objects"
)

// The writes of a sequence.
const (
	create      = "create"
	apply       = "apply"
	serverApply = "apply --server-side"
	helmUpgrade = "helm upgrade"
	edit        = "edit"
	put         = "put"     // replaces the live object with changes
	replace     = "replace" // replaces the live object with a manifest
	scale       = "scale"
	remove      = "delete"
)

// The field managers.
const (
	clientSide = "kubectl-client-side-apply"
	kubectl    = "kubectl"
	helm       = "helm"
	platform   = "platform" // applies another manifest server-side
	tuner      = "tuner"    // the controller of the rules
	autoscaler = "kube-controller-manager"
	copier     = "copy" // makes twins
)

// step is a write of a sequence.
type step struct {
	verb, by, version string
	manifest          manifest
	saved, force      bool // with last-applied; with --force-conflicts
	sets              []setting
	replicas          int64
}

// setting sets the value at a place, or removes it if gone is set.
type setting struct {
	at    string
	value any
	gone  bool
}

// write returns the step in the terms of the ledger.
func (w step) write(r ledger.Reader, k *kind) ledger.Write {
	verbs := map[string]ledger.Verb{put: ledger.Edit, apply: ledger.Apply, serverApply: ledger.ServerApply, helmUpgrade: ledger.Helm}
	verb, ok := verbs[w.verb]
	if !ok {
		verb = ledger.Verb(w.verb)
	}
	to := ledger.Write{Verb: verb, By: w.by, Save: w.saved, Force: true, Sets: ledger.Values{}}
	switch w.verb {
	case scale:
		to.Sets[scaleField] = w.replicas
	case edit, put:
		to.As = ledger.Other
		if strings.HasPrefix(w.by, kubectl) {
			to.As = ledger.Person
		}
		for _, set := range w.sets { // the paths do not matter: what is stored is learned
			to.Sets[pathOf(set.at)] = set.value
		}
	case remove:
	default:
		to.Sets = r.LeavesOf(k.object(w, "x", "x"))
		switch w.by {
		case "kubectl-create", "kubectl-replace":
			to.As = ledger.Person
		case helm:
			to.As = ledger.Applier
		}
	}
	return to
}

// side is the object of a sequence in one of the namespaces.
type side struct {
	kind      *kind
	namespace string
	name      string
	// kubectl reports whether kubectl sends what it can send.
	kubectl bool
	// live is nil before the object is created.
	live *unstructured.Unstructured
	// released is the previous manifest of Helm 3, which Helm stores itself.
	released map[string]any
}

// answer is the API server's answer to a write.
type answer struct {
	command  string // of kubectl, empty if the Go client has sent the write
	warnings []string
	err      error
	unsent   bool // an apply has nothing to send
}

func (s *side) empty(version string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(s.kind.gvk())
	o.SetAPIVersion(s.kind.apiVersion(version))
	o.SetNamespace(s.namespace)
	o.SetName(s.name)
	return o
}

func (s *side) read(ctx context.Context) error {
	o := s.empty("")
	err := cluster.client.Get(ctx, client.ObjectKeyFromObject(o), o)
	if err == nil {
		s.live = o
	}
	return err
}

// do runs a write and reads the object.
func (s *side) do(ctx context.Context, w step) (a answer, err error) {
	a.err = s.write(objects.WithWarnings(ctx, &a.warnings), w, &a)
	if errors.Is(a.err, errUnchanged) {
		a.err, a.unsent = nil, true
	}
	switch {
	case a.err != nil:
		return a, unexpected(a.err)
	case w.verb == remove: // no controller removes the finalizer of a PersistentVolumeClaim
		s.live, s.released = nil, nil
		noFinalizers := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		return a, client.IgnoreNotFound(cluster.client.Patch(ctx, s.empty(""), noFinalizers))
	}
	return a, s.read(ctx)
}

// isPanic reports whether the API server has panicked, and so reset the stream, as its validation does for an Indexed Job with a
// successPolicy and without completions.
func isPanic(err error) bool {
	var reset http2.StreamError
	return errors.As(err, &reset) && reset.Code == http2.ErrCodeInternal
}

// unexpected returns the error unless it is the rejection of a write.
func unexpected(err error) error {
	var exit *exec.ExitError
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) || apierrors.IsConflict(err) ||
		apierrors.IsInternalError(err) || apierrors.IsRequestEntityTooLargeError(err) || errors.As(err, &exit) || errors.Is(err, errNotSent) || isPanic(err) {
		return nil
	}
	return err
}

var (
	// errNotSent is the error of a write that the client does not send.
	errNotSent = errors.New("not sent")
	// errUnchanged is the error of an apply that has nothing to send.
	errUnchanged = errors.New("unchanged")
)

func (s *side) write(ctx context.Context, w step, a *answer) error {
	if s.kubectl {
		if c := s.command(w); c != nil {
			return s.run(ctx, a, c)
		}
	}
	declared := s.kind.object(w, s.name, s.namespace)
	if w.saved || w.verb == apply {
		if err := record(declared); err != nil {
			return err
		}
	}
	object := &unstructured.Unstructured{Object: declared}
	switch w.verb {
	case create:
		if w.by == helm {
			s.released = declared
		}
		return cluster.client.Create(ctx, object, client.FieldOwner(w.by))
	case serverApply:
		return s.patch(ctx, w, a, types.ApplyPatchType, declared)
	case apply:
		return s.threeWay(ctx, w, a, declaredIn(s.live.GetAnnotations()[lastApplied]), declared)
	case helmUpgrade:
		err := s.threeWay(ctx, w, a, s.released, declared)
		if err == nil || errors.Is(err, errUnchanged) { // Helm compares with the last release that did not fail
			s.released = declared
		}
		return err
	case replace:
		object.SetResourceVersion(s.live.GetResourceVersion())
		return cluster.client.Update(ctx, object, client.FieldOwner(w.by))
	case remove: // as kubectl: by default, the API server waits for a garbage collector to release the dependents of some kinds
		return cluster.client.Delete(ctx, s.empty(""), client.PropagationPolicy(metav1.DeletePropagationBackground))
	case scale:
		body := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, w.replicas)
		return cluster.client.SubResource("scale").Patch(ctx, s.empty(""), client.RawPatch(types.MergePatchType, body), client.FieldOwner(w.by))
	}
	changed := s.changed(w)
	if w.verb == put {
		return cluster.client.Update(ctx, changed, client.FieldOwner(w.by))
	}
	return s.threeWay(ctx, w, a, s.live.Object, changed.Object)
}

// changed returns the live object with the changes of an edit, in the version of the edit.
func (s *side) changed(w step) *unstructured.Unstructured {
	changed := s.live.DeepCopy()
	changed.SetAPIVersion(s.kind.apiVersion(w.version))
	for _, set := range w.sets {
		if set.gone {
			document.Remove(changed.Object, place(set.at))
		} else {
			document.Set(changed.Object, place(set.at), runtime.DeepCopyJSONValue(set.value))
		}
	}
	return changed
}

// threeWay sends the patch that kubectl and Helm compute. Neither sends an empty one.
func (s *side) threeWay(ctx context.Context, w step, a *answer, original, modified map[string]any) error {
	current := s.live.DeepCopy()
	current.SetAPIVersion(s.kind.apiVersion(w.version))
	if original["apiVersion"] != nil {
		original = maps.Clone(original)
		original["apiVersion"] = current.GetAPIVersion()
	}
	format, body, err := objects.ThreeWayPatch(original, modified, current)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	var patch map[string]any
	if err := utiljson.Unmarshal(body, &patch); err != nil {
		return err
	}
	if len(patch) == 0 {
		return errUnchanged
	}
	return s.patch(ctx, w, a, format, patch)
}

func (s *side) patch(ctx context.Context, w step, a *answer, format types.PatchType, content map[string]any) error {
	if s.kubectl && strings.HasPrefix(w.by, "kubectl-") {
		name, _, _ := strings.Cut(strings.TrimPrefix(string(format), "application/"), "-")
		return s.run(ctx, a, &command{"patch", []string{s.arg(w), "--type=" + name, "--field-manager=" + w.by, "--patch-file=/dev/stdin"}, content})
	}
	body, err := json.Marshal(content)
	if err != nil {
		return err
	}
	options := []client.PatchOption{client.FieldOwner(w.by)}
	if w.force && format == types.ApplyPatchType {
		options = append(options, client.ForceOwnership)
	}
	return cluster.client.Patch(ctx, s.empty(w.version), client.RawPatch(format, body), options...)
}

// record adds the last-applied annotation to a manifest (util.GetModifiedConfiguration of k8s.io/kubectl).
func record(declared map[string]any) error {
	metadata, _ := declared["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	text, err := json.Marshal(declared)
	annotations[lastApplied] = string(text) + "\n"
	return err
}

// release makes the release of Helm a copy of another side's: it can differ where the objects do not, after an upgrade that one of them refuses.
func (s *side) release(from *side) error {
	s.released = nil
	if from.released == nil {
		return nil
	}
	released, err := rewritten(&unstructured.Unstructured{Object: from.released}, "", s.namespace)
	if err == nil {
		s.released = released.Object
	}
	return err
}

// become makes the object a copy of another side's, with its managedFields: the first write sets the values, the second one
// managedFields. If the API server does not allow the change, the object is created again.
func (s *side) become(ctx context.Context, from *side) error {
	write := func(uid, version string) error {
		o, err := rewritten(from.live, uid, s.namespace)
		if err != nil {
			return err
		}
		o.SetResourceVersion(version)
		allocated(o.Object, func(parent map[string]any, name string) { delete(parent, name) })
		if uid == "" {
			err = cluster.client.Create(ctx, o, client.FieldOwner(copier))
		} else {
			err = cluster.client.Update(ctx, o, client.FieldOwner(copier))
		}
		return errors.Join(err, s.read(ctx))
	}
	if write(string(s.live.GetUID()), s.live.GetResourceVersion()) != nil {
		s.delete(ctx)
		if err := write("", ""); err != nil {
			return fmt.Errorf("%w: %w", errNotCopied, err)
		}
	}
	return write(string(s.live.GetUID()), s.live.GetResourceVersion())
}

// target creates a HorizontalPodAutoscaler for the object, and waits until the webhook knows it.
func (s *side) target(ctx context.Context) error {
	hpa := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
		"metadata": map[string]any{"name": s.name, "namespace": s.namespace},
		"spec": map[string]any{"maxReplicas": int64(50), "scaleTargetRef": map[string]any{
			"apiVersion": s.kind.APIVersion, "kind": s.kind.Kind, "name": s.name,
		}},
	}}
	if err := cluster.client.Create(ctx, hpa); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var warnings []string
		ctx = objects.WithWarnings(ctx, &warnings)
		err := cluster.client.Patch(ctx, s.empty(""), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":49}}`)),
			client.FieldOwner("kubectl-patch"), client.DryRunAll)
		return len(warnings) > 0, err
	})
}

func (s *side) delete(ctx context.Context) {
	_ = cluster.client.Delete(ctx, s.empty(""), client.PropagationPolicy(metav1.DeletePropagationBackground))
	hpa := s.empty("")
	hpa.SetAPIVersion("autoscaling/v2")
	hpa.SetKind("HorizontalPodAutoscaler")
	_ = cluster.client.Delete(ctx, hpa)
}
