package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/ownership-handoff/handoff/plugin/release"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// carryOut writes a plan, and returns the object afterwards, or as a dry run returns it. On a conflict, it returns the error and has
// written nothing.
func (r *releaseOptions) carryOut(ctx context.Context, plan release.Plan) (*unstructured.Unstructured, error) {
	object, err := read(plan.Subject.Object.Text())
	if err != nil || plan.Unchanged() && r.flags.dryRun != noDryRun {
		return object, err
	}
	client, err := source.Client(r.shared.cluster, source.Identity{
		Kind: plan.Subject.Kind, Namespace: plan.Subject.Namespace, Name: plan.Subject.Name,
	})
	if err != nil {
		return nil, err
	}
	if plan.Unchanged() {
		return r.settle(ctx, client, plan)
	}
	if err := required(ctx, client, plan); err != nil {
		return nil, err
	}
	patch, err := plan.Patch()
	if err != nil {
		return nil, err
	}
	if !r.flags.isClientDryRun() {
		object, err = client.Patch(ctx, plan.Subject.Name, types.JSONPatchType, patch, r.flags.patchOptions(release.WriterManager))
	}
	switch {
	case err != nil:
		return nil, err
	case r.flags.dryRun == noDryRun:
		return r.settle(ctx, client, plan)
	default:
		return patched(object, patch)
	}
}

// patched returns an object after a JSON patch. A dry run by the API server would show WriterManager.
func patched(object *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if text, err = operations.Apply(text); err != nil {
		return nil, err
	}
	return read(text)
}

// settle returns the annotation to the managers that had it in managedFields. If that fails, running the same command again
// completes it.
func (r *releaseOptions) settle(
	ctx context.Context, client dynamic.ResourceInterface, plan release.Plan,
) (*unstructured.Unstructured, error) {
	var object *unstructured.Unstructured
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		if object, err = client.Get(ctx, plan.Subject.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		text, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		patch, err := plan.Settle(text)
		if err == nil && patch != nil {
			object, err = client.Patch(ctx, plan.Subject.Name, types.JSONPatchType, patch, r.flags.patchOptions(release.WriterManager))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %s is released, but %s can still manage the last-applied annotation: %s; run the same command again",
			plan.Subject, release.Texts(plan.Paths), release.WriterManager, plan.Subject.Advise(err).Error())
	}
	return object, nil
}

// required returns an error if the API server would not create the object without the fields: the live object would survive,
// but the manifest could not create it again. It checks that by dry runs: the API server validates an object before it reports
// that the object already exists. Without permission to create the object, nothing is checked.
func required(ctx context.Context, client dynamic.ResourceInterface, plan release.Plan) error {
	with, without := plan.Manifests()
	known, err := objectionsTo(ctx, client, with)
	if err != nil {
		return err
	}
	objections, err := objectionsTo(ctx, client, without)
	for _, objection := range objections {
		if slices.Contains(known, objection) {
			continue
		}
		reason := "invalid value" // the message can quote it
		if objection.Type == metav1.CauseTypeFieldValueRequired {
			reason = "required value"
		}
		return fmt.Errorf("%s: the API server would not create the object from a manifest without %s: %s: %s; "+
			"keep it in the manifest", plan.Subject, release.Texts(plan.Paths), objection.Field, reason)
	}
	return err
}

// objectionsTo returns the causes for which the API server would not create an object, without their messages.
func objectionsTo(ctx context.Context, client dynamic.ResourceInterface, text []byte) (causes []metav1.StatusCause, err error) {
	object, err := read(text)
	if err != nil {
		return nil, err
	}
	dryRun := metav1.CreateOptions{FieldManager: release.WriterManager, DryRun: []string{metav1.DryRunAll}}
	_, err = client.Create(ctx, object, dryRun)
	var invalid *apierrors.StatusError
	if !apierrors.IsInvalid(err) || !errors.As(err, &invalid) || invalid.ErrStatus.Details == nil {
		return nil, nil // the object already exists, or the user cannot create it
	}
	for _, cause := range invalid.ErrStatus.Details.Causes {
		causes = append(causes, metav1.StatusCause{Type: cause.Type, Field: cause.Field})
	}
	return causes, nil
}

func read(text []byte) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	err := o.UnmarshalJSON(text)
	return o, err
}
