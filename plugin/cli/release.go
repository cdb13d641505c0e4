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
	*shared
	writeFlags
	subject   subjectFlags // --config alone
	manifests []string
	shown     []string // the lines of the diff
}

func (s *shared) newRelease() *cobra.Command {
	r := &releaseOptions{shared: s}
	c := &cobra.Command{
		Use:   "release TYPE/NAME FIELD...",
		Short: "Take fields away from the manifest, so that an apply without them leaves them as they are",
		Long: `Takes fields of an object away from its manifest, before they are deleted from the manifest itself. Without that, kubectl
apply deletes a field that the manifest had and has no more, and server-side apply one that nobody else claims: replicas
become 1. It is the documented procedure (kubectl apply edit-last-applied; for server-side apply, the transfer to another
manager) in one command: the field goes from the last-applied annotation, and from the claims in managedFields of those
who speak for manifests. Claims that nobody else has go to the manager ownership-handoff where an autoscaler or a
controller owns the field, and else to kubectl-handoff. Its value is not written to. A change in between is seen, and the
plan made anew.

What changes is printed first, then what to delete from the manifest: until that is done, an apply takes the field back.
With --from-manifest, the lines are named.

Write FIELD as kubectl handoff explain prints it; with *, it stands for several. Refused, and then nothing is written at
all, is what the next apply would not leave as it is: a part of a list that is taken as a whole, the key of an element;
what the API server would not create the object without, where you may create such objects; and objects whose manifest is
recorded elsewhere, as Helm 3 does. It works with the webhook of handoff and without it.`,
		Example: `  # replicas belong to an autoscaler: see what would change
  kubectl handoff release deployment/web .spec.replicas --dry-run=server

  # do it, and say which line of the manifest is to be deleted
  kubectl handoff release deployment/web .spec.replicas --from-manifest web.yaml

  # the resources of all containers belong to people
  kubectl handoff release deployment/web '.spec.template.spec.containers[*].resources'`,
		Args:              cobra.MinimumNArgs(2),
		RunE:              func(c *cobra.Command, args []string) error { return r.run(c.Context(), args) },
		ValidArgsFunction: r.complete,
	}
	c.Flags().StringSliceVar(&r.manifests, "from-manifest", nil,
		"Files, folders or URLs that the object is applied from; - is standard input. They are not written to.")
	c.Flags().StringVar(&r.subject.config, "config", "", configUsage)
	r.add(c, "released")
	return c
}

func (r *releaseOptions) run(ctx context.Context, args []string) error {
	done, err := r.done("released")
	if err != nil {
		return err
	}
	if _, err := r.printing.ToPrinter(); err != nil {
		return err
	}
	objects, fields := args[:1], args[1:]
	if !strings.Contains(args[0], "/") {
		objects, fields = args[:2], args[2:]
	}
	if len(fields) == 0 {
		return errors.New("requires a FIELD, such as .spec.replicas")
	}
	texts, err := source.ReadTexts(ctx, r.In, r.manifests)
	if err != nil {
		return err
	}
	outcome, err := r.try(ctx, objects, fields, texts)
	if err != nil {
		return err
	}
	return r.write(outcome, done)
}

// plan reads the object and plans. Of several refusals, all but the last one are written here.
func (r *releaseOptions) plan(ctx context.Context, objects, fields []string) (release.Plan, error) {
	reading, err := r.read(ctx, &r.subject, objects)
	if err != nil {
		return release.Plan{}, err
	}
	if len(reading.Subjects) != 1 {
		return release.Plan{}, fmt.Errorf("requires one object, and %s are %d; name it as TYPE/NAME", strings.Join(objects, " "),
			len(reading.Subjects))
	}
	if err := release.Reachable(reading.Subjects[0]); err != nil {
		return release.Plan{}, err
	}
	explained, err := explain.Of(reading.Subjects[0])
	if err != nil {
		return release.Plan{}, err
	}
	plan, refusals := release.Of(explained, fields, r.Now())
	return plan, r.refuse(refusals)
}

// refuse writes refusals, each a line of its own: but for the last, which is the error that the command ends with.
func (r *releaseOptions) refuse(refusals []error) error {
	if len(refusals) == 0 {
		return nil
	}
	last := len(refusals) - 1
	for _, refusal := range refusals[:last] {
		if _, err := fmt.Fprintln(r.ErrOut, "error:", printable.Text(refusal.Error())); err != nil {
			return err
		}
	}
	return refusals[last]
}

// write says what was done.
func (r *releaseOptions) write(o outcome, done string) error {
	if !r.isForPeople() {
		return r.say(r.Out, o.object, done)
	}
	operation := "unchanged"
	if len(o.plan.Released) > 0 {
		operation = strings.Replace(done, "released", "released "+release.Texts(o.plan.Released), 1)
	}
	if err := r.say(r.Out, o.object, operation); err != nil {
		return err
	}
	lines := o.lines
	if r.manifests == nil && len(o.plan.Delete) > 0 {
		lines = []string{fmt.Sprintf("delete %s from the manifest before the next apply, which would take %s back",
			release.Texts(o.plan.Delete), map[bool]string{true: "it", false: "them"}[len(o.plan.Delete) == 1])}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(r.Out, printable.Text(line)); err != nil {
			return err
		}
	}
	return nil
}

// show prints what is about to change, before it does. A plan that is made anew is shown again where it is another.
func (r *releaseOptions) show(diff []string) error {
	if !r.isForPeople() || slices.Equal(diff, r.shown) {
		return nil
	}
	r.shown = diff
	for _, line := range diff {
		if _, err := fmt.Fprintln(r.Out, coloured(r.Colour, printable.Text(line))); err != nil {
			return err
		}
	}
	return nil
}

func coloured(colour bool, line string) string {
	const red, green, plain = "\x1b[31m", "\x1b[32m", "\x1b[0m"
	switch {
	case !colour:
		return line
	case strings.HasPrefix(line, "-"):
		return red + line + plain
	default:
		return green + line + plain
	}
}
