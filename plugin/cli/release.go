package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/plugin/release"
)

func (s *shared) newRelease() *cobra.Command {
	c := &cobra.Command{
		Use:   "release TYPE/NAME FIELD...",
		Short: "Stop managing fields through the manifest",
		Long: `Stops managing fields of an object through its manifest. Run it before you remove the fields from the manifest:
otherwise kubectl apply deletes them, and server-side apply deletes those that no other manager owns.

The command removes the field from the last-applied annotation and from the managedFields entries of all managers that apply
manifests. If no other manager has the field, it is transferred to ownership-handoff or kubectl-handoff. The value of the field
does not change. The output shows the changes, and then what to remove from the manifest: until you do, an apply makes the
manifest manage the field again.

Write FIELD as kubectl handoff explain prints it; * matches several fields. If any field would not survive the next apply,
the command fails and writes nothing: part of an atomic list, the key of a list element, and fields of objects that record
their manifest elsewhere, as with Helm 3. Users who can create such objects also get an error about required fields.`,
		Example: `  # Show what would change
  kubectl handoff release deployment/web .spec.replicas --dry-run=server

  # Release the field
  kubectl handoff release deployment/web .spec.replicas

  # Release the resources of all containers
  kubectl handoff release deployment/web '.spec.template.spec.containers[*].resources'`,
		Args: between(2, math.MaxInt, "requires a FIELD, such as .spec.replicas"),
		RunE: func(c *cobra.Command, args []string) error { return s.release(c, args[0], args[1:]) },
	}
	s.configFlag(c)
	s.writeFlags(c)
	return c
}

func (s *shared) release(c *cobra.Command, object string, fields []string) error {
	var plan release.Plan
	var after *unstructured.Unstructured
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) { // starts over if the object has changed
		plan, after, err = s.tryRelease(c, object, fields)
		return err
	})
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("%s: the object changed during each of %d attempts; nothing was released, try again", plan.Subject,
			retry.DefaultRetry.Steps)
	case err != nil || len(s.failures) > 0:
		return err
	case s.format != "":
		return s.printObject(after, "")
	}
	return s.reportRelease(plan, after)
}

// tryRelease plans from the object as it is now, and carries the plan out. Fields that cannot be released are failures.
func (s *shared) tryRelease(
	c *cobra.Command, object string, fields []string,
) (plan release.Plan, after *unstructured.Unstructured, err error) {
	reader, _, err := s.objects(c.Context())
	if err != nil {
		return plan, nil, err
	}
	subjects, _, err := reader.Read(c.Context(), object)
	if err != nil {
		return plan, nil, err
	}
	if len(subjects) != 1 || !strings.Contains(object, "/") {
		return plan, nil, usage(c, "requires one object, named as TYPE/NAME")
	}
	if plan, s.failures = release.Of(subjects[0], fields, s.env.Now()); len(s.failures) > 0 {
		return plan, nil, nil
	}
	client, err := reader.Client(plan.Subject.Identity)
	if err == nil {
		after, err = plan.CarryOut(c.Context(), client, s.dryRun)
	}
	if err != nil {
		err = plan.Subject.Advise(err)
	}
	return plan, after, err
}

// reportRelease prints the changes, and what to delete from the manifest.
func (s *shared) reportRelease(plan release.Plan, object *unstructured.Unstructured) error {
	if err := table.Lines(s.env.IOStreams.Out, plan.Diff...); err != nil {
		return err
	}
	done := "unchanged"
	if len(plan.Released) > 0 {
		done = s.done("released " + release.Texts(plan.Released))
	}
	if err := s.printObject(object, done); err != nil || len(plan.Delete) == 0 {
		return err
	}
	it := map[bool]string{true: "it", false: "them"}[len(plan.Delete) == 1]
	return table.Lines(s.env.IOStreams.Out, fmt.Sprintf(
		"remove %s from the manifest before the next apply, or the manifest will manage %s again", release.Texts(plan.Delete), it))
}
