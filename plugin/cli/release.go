package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/release"
	"github.com/ownership-handoff/handoff/plugin/source"
)

type releaseOptions struct {
	shared    *shared
	flags     writeFlags
	subject   inputs // --config alone
	manifests []string
	shown     []string // the lines of the diff
}

func (s *shared) newRelease() *cobra.Command {
	r := &releaseOptions{shared: s}
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
field again. With --from-manifest, it lists the lines to delete.

Write FIELD as kubectl handoff explain prints it; * matches several fields. If any field would not survive the next apply,
the command fails and writes nothing. That is so for part of an atomic list, for the key of a list element, and for objects
that record their manifest elsewhere, as Helm 3 does. The command also fails if the API server would not create the object
without the field; this check requires permission to create such objects. It works with and without the handoff webhook.`,
		Example: `  # Show what would change
  kubectl handoff release deployment/web .spec.replicas --dry-run=server

  # Release the field, and list the lines to delete from the manifest
  kubectl handoff release deployment/web .spec.replicas --from-manifest web.yaml

  # Release the resources of all containers
  kubectl handoff release deployment/web '.spec.template.spec.containers[*].resources'`,
		Args:              atLeast(2, "requires a FIELD, such as .spec.replicas"),
		RunE:              func(c *cobra.Command, args []string) error { return r.run(c.Context(), args) },
		ValidArgsFunction: r.complete,
	}
	c.Flags().StringSliceVar(&r.manifests, "from-manifest", nil,
		"Files, directories or URLs that the object is applied from; - is standard input. They are not modified.")
	r.subject.addConfig(c)
	r.flags.add(c, "released")
	return c
}

func (r *releaseOptions) run(ctx context.Context, args []string) error {
	done, err := r.flags.done("released")
	if err != nil {
		return err
	}
	if _, err := r.flags.printing.ToPrinter(); err != nil {
		return err
	}
	objects, fields := args[:1], args[1:]
	if !strings.Contains(args[0], "/") {
		objects, fields = args[:2], args[2:]
	}
	if len(fields) == 0 {
		return errors.New("requires a FIELD, such as .spec.replicas")
	}
	texts, err := source.ReadTexts(ctx, r.shared.env.IOStreams.In, r.manifests, false)
	if err != nil {
		return err
	}
	outcome, err := r.try(ctx, objects, fields, texts)
	if err != nil {
		return err
	}
	return r.write(outcome, done)
}

// plan reads the object and returns the plan. If there are several refusals, it writes all but the last.
func (r *releaseOptions) plan(ctx context.Context, objects, fields []string) (release.Plan, error) {
	reading, err := r.shared.read(ctx, &r.subject, objects)
	if err != nil {
		return release.Plan{}, err
	}
	if len(reading.Subjects) != 1 {
		return release.Plan{}, fmt.Errorf("requires one object, but %s selects %d; name it as TYPE/NAME", strings.Join(objects, " "),
			len(reading.Subjects))
	}
	if err := release.Reachable(reading.Subjects[0]); err != nil {
		return release.Plan{}, err
	}
	explained, err := explain.Of(reading.Subjects[0])
	if err != nil {
		return release.Plan{}, err
	}
	plan, refusals := release.Of(explained, fields, r.shared.env.Now())
	return plan, r.refuse(refusals)
}

// refuse writes all refusals but the last, one line each, and returns the last as the command's error.
func (r *releaseOptions) refuse(refusals []error) error {
	if len(refusals) == 0 {
		return nil
	}
	last := len(refusals) - 1
	for _, refusal := range refusals[:last] {
		if _, err := fmt.Fprintln(r.shared.env.IOStreams.ErrOut, "error:", printable.Text(refusal.Error())); err != nil {
			return err
		}
	}
	return refusals[last]
}

// write prints the result.
func (r *releaseOptions) write(o outcome, done string) error {
	if !r.flags.isForPeople() {
		return r.flags.printObject(r.shared.env.IOStreams.Out, o.object, done)
	}
	operation := "unchanged"
	if len(o.plan.Released) > 0 {
		operation = strings.Replace(done, "released", "released "+release.Texts(o.plan.Released), 1)
	}
	if err := r.flags.printObject(r.shared.env.IOStreams.Out, o.object, operation); err != nil {
		return err
	}
	lines := o.lines
	if r.manifests == nil && len(o.plan.Delete) > 0 {
		lines = []string{fmt.Sprintf("remove %s from the manifest before the next apply, or the manifest will manage %s again",
			release.Texts(o.plan.Delete), map[bool]string{true: "it", false: "them"}[len(o.plan.Delete) == 1])}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(r.shared.env.IOStreams.Out, printable.Text(line)); err != nil {
			return err
		}
	}
	return nil
}

// show prints the changes before they are written. After a retry, it prints them again only if they differ.
func (r *releaseOptions) show(diff []string) error {
	if !r.flags.isForPeople() || slices.Equal(diff, r.shown) {
		return nil
	}
	r.shown = diff
	for _, line := range diff {
		if _, err := fmt.Fprintln(r.shared.env.IOStreams.Out, colored(r.shared.env.Color, printable.Text(line))); err != nil {
			return err
		}
	}
	return nil
}

func colored(color bool, line string) string {
	const red, green, plain = "\x1b[31m", "\x1b[32m", "\x1b[0m"
	switch {
	case !color:
		return line
	case strings.HasPrefix(line, "-"):
		return red + line + plain
	default:
		return green + line + plain
	}
}
