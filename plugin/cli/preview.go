package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/plugin/preview"
	"github.com/ownership-handoff/handoff/plugin/source"
)

func (s *shared) newPreview() *cobra.Command {
	var options preview.Options
	c := &cobra.Command{
		Use:   "preview -f FILE",
		Short: "Preview an apply, with and without handoff",
		Long: `Shows what kubectl apply would do to each object in the files, field by field: the live value, the value after an apply
without and with handoff, and the reason. Nothing is stored.

Fields that autoscalers, controllers and users own come first, so replicas that the apply would reset to the value in the
manifest, or to 1, are visible before it happens. The values come from dry runs of the API server, so they include defaults
and the effects of other webhooks. The dry runs require the permissions of an apply. Status fields, server bookkeeping and
the last-applied annotation are left out.

The first dry run is the apply as it is. If handoff answers it, the second has the label ownership-handoff.io/mode=off on
the object; otherwise, it has the label with the value enforce. If handoff does not answer at all, or with --config or
--live, this command decides what handoff would keep.

With --live, live objects are read from files instead of a cluster. Write the files with
kubectl get -o yaml --show-managed-fields, and include the HorizontalPodAutoscalers and the namespaces. The API server's
defaults are then unknown, except for replicas.

The exit code is 0 if handoff would not change the result of the apply, 1 if it would keep a field, and greater than 1 on
errors, as with kubectl diff.`,
		Example: `  # Preview an apply
  kubectl handoff preview -f shop.yaml

  # Preview a whole directory, with the names of the decisions
  kubectl handoff preview -R -f manifests/ -o wide

  # Preview a server-side apply
  kubectl handoff preview --server-side -f shop.yaml

  # Preview without a cluster
  kubectl get deployment,hpa -o yaml --show-managed-fields > live.yaml
  kubectl handoff preview -f shop.yaml --live live.yaml`,
		Args: between(0, 0, "accepts no arguments; name files with -f"),
		RunE: func(c *cobra.Command, _ []string) error { return s.preview(c.Context(), options) },
	}
	s.manifestFlags(c, "Files, directories or URLs that contain the manifests; - is standard input.", true)
	s.selectorFlag(c, "the manifests")
	flags := c.Flags()
	flags.BoolVar(&options.ServerSide, "server-side", false, "Preview kubectl apply --server-side.")
	flags.BoolVar(&options.ForceConflicts, "force-conflicts", false, "Preview a server-side apply with --force-conflicts.")
	flags.StringVar(&options.FieldManager, "field-manager", "", "Field manager of the apply; defaults to kubectl's own.")
	choiceFlag(c, &options.Validate, "validate",
		`How to handle unknown fields: "strict", "warn" or "ignore", as with kubectl apply.`, "strict", "warn", "ignore")
	s.dataFlag(c, "Output format.", wide)
	return c
}

func (s *shared) preview(ctx context.Context, options preview.Options) error {
	switch {
	case !s.hasFiles():
		return usagef("requires manifests; name files with -f, or a kustomization with -k")
	case options.ForceConflicts && !options.ServerSide:
		return usagef("--force-conflicts requires --server-side")
	}
	validations := map[string]string{"strict": "Strict", "true": "Strict", "warn": "Warn", "ignore": "Ignore", "false": "Ignore"}
	validate, known := validations[options.Validate]
	if !known {
		return fmt.Errorf("invalid --validate=%s; use strict, warn or ignore", options.Validate)
	}
	options.Validate = validate
	previews, failed, gaps, err := s.previews(ctx, options)
	if err != nil {
		return err
	}
	items := make([]preview.Data, len(previews))
	for i := range previews {
		items[i] = previews[i].Data()
	}
	if err := show(s, "Preview", items, false, func() error { return s.writePreviews(previews) }); err != nil {
		return err
	}
	s.report("error: ", failed...)
	keeps := false
	for i := range previews {
		keeps, gaps = keeps || previews[i].Keeps(), append(gaps, previews[i].Subject.Gaps...)
	}
	err = s.finish(gaps)
	switch {
	case len(failed) > 0:
		return exitError(ExitError)
	case err == nil && keeps:
		return exitError(ExitNegative)
	default:
		return err
	}
}

// previews returns the preview of each manifest. The failures are the errors of single objects, the gaps are about the configuration.
func (s *shared) previews(
	ctx context.Context, options preview.Options,
) (previews []preview.Preview, failures, gaps []string, err error) {
	reader, gaps, err := s.liveObjects(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	manifests, err := reader.Manifests(ctx, s.files()) // first: the errors of malformed files are clearer than those of a missing cluster
	if err != nil {
		return nil, nil, nil, err
	}
	live, err := reader.Live(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(manifests) == 0 {
		return nil, nil, nil, errors.New("the files contain no objects to apply; name other files with -f, or omit --selector")
	}
	var applications []source.Application
	for _, manifest := range manifests {
		application, err := live.Application(ctx, manifest)
		switch {
		case err != nil && (reader.Offline() || source.IsUnreachable(err)):
			return nil, nil, nil, err
		case err != nil:
			failures = append(failures, fmt.Sprintf("%s: %v", source.IdentityOf(manifest), err))
		default:
			applications = append(applications, application)
		}
	}
	if options.Installation, err = s.installation(ctx, reader.Offline()); err != nil {
		return nil, nil, nil, err
	}
	for name, mode := range live.Namespaces() {
		options.Installation.AddNamespace(name, mode)
	}
	options.Managers, options.Configured = reader.Configuration.Managers(), s.config != ""
	if options.Rules, err = reader.Configuration.ParsedRules(); err != nil {
		return nil, nil, nil, err
	}
	for _, application := range applications {
		one, err := preview.Of(ctx, application, options)
		if err != nil {
			failures = append(failures, err.Error())
			continue
		}
		previews = append(previews, one)
	}
	return previews, failures, gaps, nil
}

// writePreviews writes the previews, with an empty line before and after each table.
func (s *shared) writePreviews(previews []preview.Preview) error {
	out := s.env.IOStreams.Out
	for i := range previews {
		if i > 0 && len(previews[i-1].Fields)+len(previews[i].Fields) > 0 {
			if err := table.Lines(out, ""); err != nil {
				return err
			}
		}
		if err := previews[i].Write(out, s.style(), s.output.isWide()); err != nil {
			return err
		}
	}
	return nil
}
