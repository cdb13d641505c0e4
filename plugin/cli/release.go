package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/plugin/release"
	"github.com/ownership-handoff/handoff/plugin/source"
)

func (s *shared) newRelease() *cobra.Command {
	c := &cobra.Command{
		Use:   "release TYPE/NAME FIELD...",
		Short: "Stop managing fields through the manifest",
		Long: `Stops managing fields of an object through its manifest. Run it before you remove the fields from the manifest.
Otherwise kubectl apply deletes a field that was removed from the manifest, and server-side apply deletes one that no
other manager owns: replicas default to 1.

This command combines the documented procedures: kubectl apply edit-last-applied and, for server-side apply, the transfer
to another field manager. It removes the field from the last-applied annotation and from the managedFields entries of all
managers that apply manifests. If no other manager has the field in managedFields, it is transferred: to
ownership-handoff if an autoscaler or a controller owns the field, otherwise to kubectl-handoff. The value of the field does
not change. If the object changes in the meantime, the command reads it again and starts over.

The output shows the changes, and then what to remove from the manifest: until you do, an apply makes the manifest manage the
field again.

Write FIELD as kubectl handoff explain prints it; * matches several fields. If any field would not survive the next apply,
the command fails and writes nothing. That is so for part of an atomic list, for the key of a list element, and for objects
that record their manifest elsewhere, as Helm 3 does. The command also fails if the API server would not create the object
without the field; this check requires permission to create such objects. It works with and without the handoff webhook.`,
		Example: `  # Show what would change
  kubectl handoff release deployment/web .spec.replicas --dry-run=server

  # Release the field
  kubectl handoff release deployment/web .spec.replicas

  # Release the resources of all containers
  kubectl handoff release deployment/web '.spec.template.spec.containers[*].resources'`,
		Args:              between(2, math.MaxInt, "requires a FIELD, such as .spec.replicas"),
		RunE:              func(c *cobra.Command, args []string) error { return s.release(c.Context(), args) },
		ValidArgsFunction: s.completeFields,
	}
	s.configFlag(c)
	s.writeFlags(c, "released")
	return c
}

func (s *shared) release(ctx context.Context, args []string) error {
	done, err := s.done("released")
	if err != nil {
		return err
	}
	objects, fields := args[:1], args[1:]
	if !strings.Contains(args[0], "/") {
		objects, fields = args[:2], args[2:]
	}
	if len(fields) == 0 {
		return usagef("requires a FIELD, such as .spec.replicas")
	}
	var plan release.Plan
	var object *unstructured.Unstructured
	err = retry.RetryOnConflict(retry.DefaultRetry, func() (err error) { // starts over if the object has changed
		if plan, err = s.plan(ctx, objects, fields); err != nil {
			return err
		}
		if object, err = s.carryOut(ctx, plan); err != nil {
			return plan.Subject.Advise(err)
		}
		return nil
	})
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("%s: the object changed during each of %d attempts; nothing was released, try again", plan.Subject,
			retry.DefaultRetry.Steps)
	case err != nil:
		return err
	case s.output.format != "":
		return s.printObject(object, done)
	}
	return s.reportRelease(plan, object, done)
}

// reportRelease prints the changes, and what to delete from the manifest.
func (s *shared) reportRelease(plan release.Plan, object *unstructured.Unstructured, done string) error {
	out := s.env.IOStreams.Out
	for _, line := range plan.Diff {
		color := 32 // green
		if strings.HasPrefix(line, "-") {
			color = 31 // red
		}
		if _, err := fmt.Fprintln(out, s.style().Paint(printable.Text(line), color)); err != nil {
			return err
		}
	}
	operation := "unchanged"
	if len(plan.Released) > 0 {
		operation = strings.Replace(done, "released", "released "+release.Texts(plan.Released), 1)
	}
	if err := s.printObject(object, operation); err != nil {
		return err
	}
	if len(plan.Delete) == 0 {
		return nil
	}
	return table.Lines(out, fmt.Sprintf("remove %s from the manifest before the next apply, or the manifest will manage %s again",
		release.Texts(plan.Delete), map[bool]string{true: "it", false: "them"}[len(plan.Delete) == 1]))
}

// plan reads the object and returns the plan. If there are several refusals, it writes all but the last.
func (s *shared) plan(ctx context.Context, objects, fields []string) (plan release.Plan, err error) {
	reader, _, err := s.objects(ctx)
	if err != nil {
		return plan, err
	}
	subjects, _, err := reader.Read(ctx, objects...)
	if err != nil {
		return plan, err
	}
	if len(subjects) != 1 {
		return plan, usagef("requires one object, but %s selects %d; name it as TYPE/NAME", strings.Join(objects, " "), len(subjects))
	}
	plan, refusals := release.Of(subjects[0], fields, s.env.Now())
	for i, refusal := range refusals {
		if i == len(refusals)-1 {
			return plan, refusal
		}
		s.report("error: ", refusal.Error())
	}
	return plan, nil
}

// carryOut writes a plan, and returns the object afterwards, or as a dry run returns it. On a conflict, it returns the error and has
// written nothing.
func (s *shared) carryOut(ctx context.Context, plan release.Plan) (*unstructured.Unstructured, error) {
	object, err := read(plan.Subject.Object.Text())
	if err != nil || plan.Unchanged() && s.dryRun != noDryRun {
		return object, err
	}
	client, err := source.Client(s.cluster, source.Identity{
		Kind: plan.Subject.Kind, Namespace: plan.Subject.Namespace, Name: plan.Subject.Name,
	})
	if err != nil {
		return nil, err
	}
	if plan.Unchanged() {
		return s.settle(ctx, client, plan)
	}
	if err := required(ctx, client, plan); err != nil {
		return nil, err
	}
	patch, err := plan.Patch()
	if err != nil {
		return nil, err
	}
	if !s.isClientDryRun() {
		object, err = client.Patch(ctx, plan.Subject.Name, types.JSONPatchType, patch, s.patchOptions(release.WriterManager))
	}
	switch {
	case err != nil:
		return nil, err
	case s.dryRun == noDryRun:
		return s.settle(ctx, client, plan)
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
func (s *shared) settle(
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
			object, err = client.Patch(ctx, plan.Subject.Name, types.JSONPatchType, patch, s.patchOptions(release.WriterManager))
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
