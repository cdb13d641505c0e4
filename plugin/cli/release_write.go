package cli

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/release"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// outcome is the result of a release.
type outcome struct {
	plan   release.Plan
	object *unstructured.Unstructured // after the release, or as a dry run returns it
	lines  []string                   // to delete from the manifests
}

// try plans and writes, and starts over if the object has changed in the meantime.
func (r *releaseOptions) try(ctx context.Context, objects, fields []string, texts []source.Text) (outcome, error) {
	var o outcome
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		if o.plan, err = r.plan(ctx, objects, fields); err != nil {
			return err
		}
		if len(r.manifests) > 0 {
			if o.lines, err = o.plan.Lines(texts); err != nil {
				return err
			}
		}
		if o.object, err = r.carryOut(ctx, o.plan); err != nil {
			return o.plan.Subject.Advise(err)
		}
		return nil
	})
	if apierrors.IsConflict(err) {
		return o, fmt.Errorf("%s: the object changed during each of %d attempts; nothing was released, try again", o.plan.Subject,
			retry.DefaultRetry.Steps)
	}
	return o, err
}

// carryOut writes a plan. On a conflict, it returns the error and has written nothing.
func (r *releaseOptions) carryOut(ctx context.Context, plan release.Plan) (*unstructured.Unstructured, error) {
	object, err := read(plan.Subject.Object.Text())
	if err != nil || plan.Unchanged() && (plan.Settled() || r.flags.dryRun != noDryRun) {
		return object, err
	}
	client, err := r.clientOf(plan)
	if err != nil {
		return nil, err
	}
	if plan.Unchanged() {
		return r.settle(ctx, client, plan, object)
	}
	if err := required(ctx, client, plan); err != nil {
		return nil, err
	}
	if err := r.show(plan.Diff()); err != nil {
		return nil, err
	}
	if !r.flags.isClientDryRun() {
		patch, err := plan.Patch()
		if err != nil {
			return nil, err
		}
		object, err = client.Patch(ctx, plan.Subject.Name, types.JSONPatchType, patch, r.flags.patchOptions(release.WriterManager))
		if err != nil {
			return nil, err
		}
	}
	if r.flags.isClientDryRun() || r.flags.isServerDryRun() {
		return object, asPlanned(object, plan)
	}
	return r.settle(ctx, client, plan, object)
}

// settle returns the annotation to the managers that had it in managedFields. If that fails, running the same command again
// completes it.
func (r *releaseOptions) settle(
	ctx context.Context, client dynamic.ResourceInterface, plan release.Plan, object *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		if object == nil {
			if object, err = client.Get(ctx, plan.Subject.Name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		now, err := ownershipOf(object)
		if err != nil {
			return err
		}
		patch, err := plan.Settle(now)
		if err != nil || patch == nil {
			return err
		}
		settled, err := client.Patch(ctx, plan.Subject.Name, types.JSONPatchType, patch, r.flags.patchOptions(release.WriterManager))
		object = settled // nil after an error, so that the next attempt reads the object
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %s is released, but %s still manages the last-applied annotation: %s; run the same command again",
			plan.Subject, release.Texts(plan.Paths), release.WriterManager, plan.Subject.Advise(err).Error())
	}
	return object, nil
}

func (r *releaseOptions) clientOf(plan release.Plan) (dynamic.ResourceInterface, error) {
	mapper, err := r.shared.cluster.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	mapping, err := mapper.RESTMapping(plan.Subject.Kind.GroupKind(), plan.Subject.Kind.Version)
	if err != nil {
		return nil, err
	}
	restConfig, err := r.shared.cluster.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(restConfig)
	if err != nil {
		return nil, err
	}
	return client.Resource(mapping.Resource).Namespace(plan.Subject.Namespace), nil
}

// asPlanned sets the planned annotation and managedFields on the object of a dry run.
func asPlanned(object *unstructured.Unstructured, plan release.Plan) error {
	text, entries := plan.Records()
	if annotations := object.GetAnnotations(); text != "" {
		annotations[ownership.LastAppliedAnnotation] = text
		object.SetAnnotations(annotations)
	}
	var managedFields []metav1.ManagedFieldsEntry
	if err := json.Unmarshal(entries, &managedFields); err != nil {
		return err
	}
	object.SetManagedFields(managedFields)
	return nil
}

func read(text []byte) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	err := o.UnmarshalJSON(text)
	return o, err
}

func ownershipOf(o *unstructured.Unstructured) (ownership.Object, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return ownership.Object{}, err
	}
	return ownership.ParseObject(text)
}
