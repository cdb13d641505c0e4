package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/internal/printable"
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
	gaps    []string // about the configuration
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
	must(p.output.add(c))
}

func (p *previewOptions) run(ctx context.Context) error {
	p.shared.dryRunOnly = true
	options, err := p.complete(ctx)
	if err != nil {
		return err
	}
	applications, gaps, err := p.reader.ReadApplications(ctx, p.inputs.query(), resource.FilenameOptions{Filenames: p.inputs.live})
	if err != nil {
		return err
	}
	if len(applications) == 0 && len(gaps) == 0 {
		return errors.New("the files contain no objects to apply; name other files with -f, or omit --selector")
	}
	w := previewWriter{shared: p.shared, output: &p.output, failed: gaps, gaps: p.gaps}
	for i := range applications {
		one, err := preview.Of(ctx, applications[i], options)
		if err != nil {
			w.failed = append(w.failed, err.Error())
		} else if err := w.add(&one); err != nil {
			return err
		}
	}
	return w.finish()
}

// previewWriter writes previews for people one by one, and collects those for programs.
type previewWriter struct {
	shared *shared
	output *outputFlags

	failed, gaps []string
	keeps        bool
	items        []any
	// table reports whether the last preview was written as a table.
	table bool
}

func (w *previewWriter) add(one *preview.Preview) error {
	w.keeps, w.gaps = w.keeps || one.Keeps(), append(w.gaps, one.Subject.Gaps...)
	w.items = append(w.items, one.Data())
	if w.output.isData() {
		return nil
	}
	was := w.table
	if w.table = len(one.Fields) > 0; len(w.items) > 1 && (was || w.table) {
		if _, err := fmt.Fprintln(w.shared.env.IOStreams.Out); err != nil {
			return err
		}
	}
	return one.Write(w.shared.env.IOStreams.Out, table.Style{Color: w.shared.env.Color, Now: w.shared.env.Now()}, w.output.isWide())
}

// finish writes the errors, one line each, and returns the exit code.
func (w *previewWriter) finish() error {
	if w.output.isData() {
		if err := w.output.print(w.shared, "Preview", w.items, false); err != nil {
			return err
		}
	}
	for _, line := range w.failed {
		if _, err := fmt.Fprintln(w.shared.env.IOStreams.ErrOut, "error:", printable.Text(line)); err != nil {
			return err
		}
	}
	err := finish(w.shared.env.IOStreams.ErrOut, w.gaps)
	switch {
	case len(w.failed) > 0:
		return exitError(ExitError)
	case err == nil && w.keeps:
		return exitError(ExitNegative)
	default:
		return err
	}
}

func (p *previewOptions) complete(ctx context.Context) (preview.Options, error) {
	options := p.options
	switch {
	case !p.inputs.hasFiles():
		return options, errors.New("requires manifests; name files with -f, or a kustomization with -k")
	case options.ForceConflicts && !options.ServerSide:
		return options, errors.New("--force-conflicts requires --server-side")
	}
	if err := p.output.check(); err != nil {
		return options, err
	}
	validations := map[string]string{"strict": "Strict", "true": "Strict", "warn": "Warn", "ignore": "Ignore", "false": "Ignore"}
	if options.Validate = validations[options.Validate]; options.Validate == "" {
		return options, fmt.Errorf("invalid --validate=%s; use strict, warn or ignore", p.options.Validate)
	}
	var err error
	if p.reader, p.gaps, err = p.shared.reader(ctx, &p.inputs); err != nil {
		return options, err
	}
	options.Managers, options.Configured = p.reader.Configuration.Managers(), p.inputs.config != ""
	options.Rules, err = p.reader.Configuration.Rules()
	return options, err
}
