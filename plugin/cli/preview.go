package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/plugin/preview"
	"github.com/ownership-handoff/handoff/plugin/source"
)

type previewOptions struct {
	shared  *shared
	output  outputFlags
	inputs  inputs
	options preview.Options
	reader  source.Reader
}

func (s *shared) newPreview() *cobra.Command {
	p := &previewOptions{shared: s}
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
		Args: onlyFiles,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c.Context()) },
	}
	p.add(c)
	return c
}

func (p *previewOptions) add(c *cobra.Command) {
	p.inputs.addManifests(c, "Files, directories or URLs that contain the manifests; - is standard input.", true)
	p.inputs.addSelector(c, "the manifests")
	flags := c.Flags()
	flags.BoolVar(&p.options.ServerSide, "server-side", false, "Preview kubectl apply --server-side.")
	flags.BoolVar(&p.options.ForceConflicts, "force-conflicts", false, "Preview a server-side apply with --force-conflicts.")
	flags.StringVar(&p.options.FieldManager, "field-manager", "", "Field manager of the apply; defaults to kubectl's own.")
	flags.StringVar(&p.options.Validate, "validate", "strict",
		`How to handle unknown fields: "strict", "warn" or "ignore", as with kubectl apply.`)
	must(c.RegisterFlagCompletionFunc("validate", cobra.FixedCompletions([]string{"strict", "warn", "ignore"}, noFiles)))
	p.output.add(c)
}

func (p *previewOptions) run(ctx context.Context) error {
	gaps, err := p.complete(ctx)
	if err != nil {
		return err
	}
	previews, failed, err := p.previews(ctx)
	if err != nil {
		return err
	}
	if err := p.write(previews); err != nil {
		return err
	}
	if err := p.shared.report("error: ", failed...); err != nil {
		return err
	}
	keeps := false
	for i := range previews {
		keeps, gaps = keeps || previews[i].Keeps(), append(gaps, previews[i].Subject.Gaps...)
	}
	err = p.shared.finish(gaps)
	switch {
	case len(failed) > 0:
		return exitError(ExitError)
	case err == nil && keeps:
		return exitError(ExitNegative)
	default:
		return err
	}
}

// previews returns the preview of each manifest. The failures are the errors of single objects.
func (p *previewOptions) previews(ctx context.Context) (previews []preview.Preview, failures []string, err error) {
	live := resource.FilenameOptions{Filenames: p.inputs.live}
	applications, failures, err := p.reader.ReadApplications(ctx, p.inputs.query(), live)
	if err != nil {
		return nil, nil, err
	}
	if len(applications) == 0 && len(failures) == 0 {
		return nil, nil, errors.New("the files contain no objects to apply; name other files with -f, or omit --selector")
	}
	if p.options.Installation, err = p.shared.installation(ctx, p.inputs.offline()); err != nil {
		return nil, nil, err
	}
	for _, application := range applications {
		if application.Mode != "" {
			p.options.Installation.AddNamespace(application.Subject.Namespace, application.Mode)
		}
		one, err := preview.Of(ctx, application, p.options)
		if err != nil {
			failures = append(failures, err.Error())
			continue
		}
		previews = append(previews, one)
	}
	return previews, failures, nil
}

// write writes the previews, with an empty line before and after each table.
func (p *previewOptions) write(previews []preview.Preview) error {
	out, style := p.shared.env.IOStreams.Out, table.Style{Color: p.shared.env.Color}
	if p.output.isData() {
		items := make([]any, len(previews))
		for i := range previews {
			items[i] = previews[i].Data()
		}
		return printData(p.shared, &p.output, "Preview", items, false)
	}
	for i := range previews {
		if i > 0 && len(previews[i-1].Fields)+len(previews[i].Fields) > 0 {
			if err := table.Lines(out, ""); err != nil {
				return err
			}
		}
		if err := previews[i].Write(out, style, p.output.isWide()); err != nil {
			return err
		}
	}
	return nil
}

// complete completes the options. The gaps are about the configuration.
func (p *previewOptions) complete(ctx context.Context) (gaps []string, err error) {
	switch {
	case !p.inputs.hasFiles():
		return nil, usagef("requires manifests; name files with -f, or a kustomization with -k")
	case p.options.ForceConflicts && !p.options.ServerSide:
		return nil, usagef("--force-conflicts requires --server-side")
	}
	validations := map[string]string{"strict": "Strict", "true": "Strict", "warn": "Warn", "ignore": "Ignore", "false": "Ignore"}
	validate, known := validations[p.options.Validate]
	if !known {
		return nil, fmt.Errorf("invalid --validate=%s; use strict, warn or ignore", p.options.Validate)
	}
	p.options.Validate = validate
	if p.reader, gaps, err = p.shared.reader(ctx, &p.inputs); err != nil {
		return nil, err
	}
	p.options.Managers, p.options.Configured = p.reader.Configuration.Managers(), p.inputs.config != ""
	p.options.Rules, err = p.reader.Configuration.ParsedRules()
	return gaps, err
}
