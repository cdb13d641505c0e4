package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/ownership-handoff/handoff/plugin/release"
)

// required refuses what the API server would not create the object without: live, it would go on without it, but the manifest
// could not make it again. That is asked by dry runs: that the object is there already, the API server says only when it has
// found nothing wrong with it. Where the question is not permitted, there is no answer.
func required(ctx context.Context, client dynamic.ResourceInterface, plan release.Plan) error {
	without, err := objectionsTo(ctx, client, plan.Without())
	if err != nil || len(without) == 0 {
		return err
	}
	with, err := objectionsTo(ctx, client, plan.With())
	if err != nil {
		return err
	}
	for _, objection := range without {
		if !slices.Contains(with, objection) && plan.Concerns(objection.Field, objection.Type == metav1.CauseTypeFieldValueRequired) {
			return fmt.Errorf("%s: from a manifest without %s, the API server would not create the object: %s: %s; leave it there",
				plan, release.Texts(plan.Paths), objection.Field, reason(objection))
		}
	}
	return nil
}

// reason is what is wrong, without the value that it is wrong of.
func reason(objection metav1.StatusCause) string {
	if objection.Type == metav1.CauseTypeFieldValueRequired {
		return "required value"
	}
	return "the value there would be refused"
}

// objectionsTo returns what the API server has against creating an object.
func objectionsTo(ctx context.Context, client dynamic.ResourceInterface, text []byte) ([]metav1.StatusCause, error) {
	object, err := read(text)
	if err != nil {
		return nil, err
	}
	dryRun := metav1.CreateOptions{FieldManager: release.WriterManager, DryRun: []string{metav1.DryRunAll}}
	_, err = client.Create(ctx, object, dryRun)
	var refused *apierrors.StatusError
	if !apierrors.IsInvalid(err) || !errors.As(err, &refused) || refused.ErrStatus.Details == nil {
		return nil, nil // it is there already, or may not be created, which tells nothing
	}
	causes := refused.ErrStatus.Details.Causes
	for i := range causes {
		causes[i].Message = "" // which quotes values
	}
	return causes, nil
}
