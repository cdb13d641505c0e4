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

// required returns an error if the API server would not create the object without the fields: the live object would survive,
// but the manifest could not create it again. It checks that by dry runs: the API server validates an object before it reports
// that the object already exists. Without permission to create the object, nothing is checked.
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
			return fmt.Errorf("%s: the API server would not create the object from a manifest without %s: %s: %s; "+
				"keep it in the manifest", plan.Subject, release.Texts(plan.Paths), objection.Field, reason(objection))
		}
	}
	return nil
}

// reason returns what is wrong, without quoting the value.
func reason(objection metav1.StatusCause) string {
	if objection.Type == metav1.CauseTypeFieldValueRequired {
		return "required value"
	}
	return "invalid value"
}

// objectionsTo returns the causes for which the API server would not create an object.
func objectionsTo(ctx context.Context, client dynamic.ResourceInterface, text []byte) ([]metav1.StatusCause, error) {
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
	causes := invalid.ErrStatus.Details.Causes
	for i := range causes {
		causes[i].Message = "" // it can quote values
	}
	return causes, nil
}
