package release

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
)

// CarryOut writes the plan, and returns the object afterwards. DryRun is none, server or client, as in kubectl; with the latter two, it
// returns what the object would be. On a conflict, it returns the error and has written nothing.
func (p Plan) CarryOut(ctx context.Context, client dynamic.ResourceInterface, dryRun string) (*unstructured.Unstructured, error) {
	patch, err := p.patch()
	if err == nil && len(p.Diff) > 0 {
		err = p.required(ctx, client)
	}
	if err == nil && len(p.Diff) > 0 && dryRun != "client" {
		options := metav1.PatchOptions{FieldManager: WriterManager}
		if dryRun == "server" {
			options.DryRun = []string{metav1.DryRunAll}
		}
		_, err = client.Patch(ctx, p.Subject.Name, types.MergePatchType, patch, options)
	}
	switch {
	case err != nil:
		return nil, err
	case dryRun == "none":
		return p.settled(ctx, client)
	}
	text, err := jsonpatch.MergePatch(p.Subject.Object.Text(), patch) // the API server's result of a dry run would show WriterManager
	if err != nil {
		return nil, err
	}
	after := &unstructured.Unstructured{}
	err = after.UnmarshalJSON(text)
	return after, err
}

// settled returns the annotation to the managers that had it in managedFields. If that fails, releasing the same fields again completes
// it.
func (p Plan) settled(ctx context.Context, client dynamic.ResourceInterface) (object *unstructured.Unstructured, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		if object, err = client.Get(ctx, p.Subject.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		text, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		patch, err := p.settle(text)
		if err == nil && patch != nil {
			options := metav1.PatchOptions{FieldManager: WriterManager}
			object, err = client.Patch(ctx, p.Subject.Name, types.MergePatchType, patch, options)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %s is released, but %s can still manage the last-applied annotation: %s; run the same command again",
			p.Subject, Texts(p.Paths), WriterManager, p.Subject.Advise(err).Error())
	}
	return object, nil
}

// required returns an error if the API server would not create the object without the fields: the live object would survive,
// but the manifest could not create it again. It checks that by dry runs: the API server validates an object before it reports
// that the object already exists. Without permission to create the object, nothing is checked. If no manifest is in the annotation, it
// is what server-side appliers manage.
func (p Plan) required(ctx context.Context, client dynamic.ResourceInterface) error {
	manifest := p.annotation
	if manifest.with == "" {
		manifest = p.applied
	}
	known := objectionsTo(ctx, client, manifest.with)
	for _, objection := range objectionsTo(ctx, client, manifest.without) {
		if !slices.Contains(known, objection) {
			return fmt.Errorf("%s: the API server would not create the object from a manifest without %s: %s; keep it in the manifest",
				p.Subject, Texts(p.Paths), objection)
		}
	}
	return nil
}

// objectionsTo returns why the API server would not create an object, without its messages, which can quote values.
func objectionsTo(ctx context.Context, client dynamic.ResourceInterface, text string) (objections []string) {
	object := &unstructured.Unstructured{}
	err := object.UnmarshalJSON([]byte(text))
	if err == nil {
		_, err = client.Create(ctx, object, metav1.CreateOptions{FieldManager: WriterManager, DryRun: []string{metav1.DryRunAll}})
	}
	var invalid *apierrors.StatusError
	if !apierrors.IsInvalid(err) || !errors.As(err, &invalid) || invalid.ErrStatus.Details == nil {
		return nil // the object already exists, or the user cannot create it
	}
	for _, cause := range invalid.ErrStatus.Details.Causes {
		reason := "invalid value"
		if cause.Type == metav1.CauseTypeFieldValueRequired {
			reason = "required value"
		}
		objections = append(objections, cause.Field+": "+reason)
	}
	return objections
}
