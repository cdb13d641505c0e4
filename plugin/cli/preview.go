package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/plugin/preview"
	"github.com/ownership-handoff/handoff/plugin/source"
)

type previewOptions struct {
	*shared
	outputFlags
	files    *genericclioptions.FileNameFlags
	live     []string
	selector string
	config   string
	options  preview.Options
}

func (s *shared) newPreview() *cobra.Command {
	p := &previewOptions{shared: s}
	c := &cobra.Command{
		Use:   "preview -f FILE",
		Short: "Say what kubectl apply would do, without handoff and with it",
		Long: `Says of each object of the files what kubectl apply would do to it, field by field: what the field is now, what it would
become without handoff and with it, and why. Nothing is stored.

Fields that autoscalers, controllers and people own come first: a replicas that comes back to what the manifest says, or to 1,
is seen here before it happens. What an apply alone does, a dry run of the API server says, so that defaults and other
webhooks are in it; it takes the rights of an apply. Fields that only change in status or by server bookkeeping are left out,
and so is the last-applied annotation.

Where handoff is enabled, another dry run says whether the webhook is there and does what stands under WITH HANDOFF.

With --live, live objects are read from files, which kubectl get -o yaml --show-managed-fields writes, and no cluster is
asked: add the HorizontalPodAutoscalers and the namespaces to them. The defaults of the API server are then not known, but for
replicas.

The exit code is 0 where handoff would change nothing of what the apply does, 1 where it would keep something, and more for
errors, as that of kubectl diff.`,
		Example: `  # before an apply
  kubectl handoff preview -f shop.yaml

  # a whole folder, with the rows of the decision table
  kubectl handoff preview -R -f manifests/ -o wide

  # of a server-side apply
  kubectl handoff preview --server-side -f shop.yaml

  # without a cluster
  kubectl get deployment,hpa -o yaml --show-managed-fields > live.yaml
  kubectl handoff preview -f shop.yaml --live live.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c.Context()) },
	}
	p.add(c)
	return c
}

func (p *previewOptions) add(c *cobra.Command) {
	filenames, kustomize, recursive := []string{}, "", false
	p.files = &genericclioptions.FileNameFlags{
		Usage:     "Files, folders or URLs with the manifests; - is standard input.",
		Filenames: &filenames, Kustomize: &kustomize, Recursive: &recursive,
	}
	p.files.AddFlags(c.Flags())
	flags := c.Flags()
	flags.StringSliceVar(&p.live, "live", nil,
		"Files, folders or URLs to read the live objects from instead of the cluster; - is standard input.")
	flags.StringVarP(&p.selector, "selector", "l", "", "Selector (label query) to choose manifests by.")
	flags.StringVar(&p.config, "config", "", configUsage)
	flags.BoolVar(&p.options.ServerSide, "server-side", false, "Foretell kubectl apply --server-side.")
	flags.BoolVar(&p.options.ForceConflicts, "force-conflicts", false, "Foretell a server-side apply with --force-conflicts.")
	flags.StringVar(&p.options.FieldManager, "field-manager", "", "Name of the manager that applies, by default kubectl's own.")
	flags.StringVar(&p.options.Validate, "validate", "strict",
		`What is to become of unknown fields: "strict", "warn" or "ignore", as with kubectl apply.`)
	must(c.RegisterFlagCompletionFunc("validate", cobra.FixedCompletions([]string{"strict", "warn", "ignore"}, noFiles)))
	must(p.outputFlags.add(c))
}

func (p *previewOptions) run(ctx context.Context) error {
	p.tries = true
	options, err := p.complete()
	if err != nil {
		return err
	}
	applications, gaps, err := p.applications(ctx)
	if err != nil {
		return err
	}
	if len(applications) == 0 && len(gaps) == 0 {
		return errors.New("the files hold no objects to apply; name others with -f, or leave out --selector")
	}
	told := telling{previewOptions: p, failed: gaps}
	for i := range applications {
		foretold, err := preview.Of(ctx, applications[i], options)
		if err != nil {
			told.failed = append(told.failed, err.Error())
		} else if err := told.add(&foretold); err != nil {
			return err
		}
	}
	return told.end()
}

// telling tells previews, each as soon as it is there.
type telling struct {
	*previewOptions
	failed, gaps []string
	keeps        bool
	items        []any
	// table says that the last one told is a table.
	table bool
}

func (t *telling) add(foretold *preview.Preview) error {
	t.keeps, t.gaps = t.keeps || foretold.Keeps(), append(t.gaps, foretold.Gaps...)
	t.items = append(t.items, foretold.Data())
	if t.isData() {
		return nil
	}
	was := t.table
	if t.table = len(foretold.Fields) > 0; len(t.items) > 1 && (was || t.table) {
		if _, err := fmt.Fprintln(t.Out); err != nil {
			return err
		}
	}
	return foretold.Write(t.Out, table.Style{Colour: t.Colour, Now: t.Now()}, t.isWide())
}

// end says what went wrong, a line each, and makes the exit code.
func (t *telling) end() error {
	if t.isData() {
		if err := t.print(t.shared, "Preview", t.items, true); err != nil {
			return err
		}
	}
	for _, line := range t.failed {
		if _, err := fmt.Fprintln(t.ErrOut, "error:", printable.Text(line)); err != nil {
			return err
		}
	}
	err := finish(t.ErrOut, t.gaps)
	switch {
	case len(t.failed) > 0:
		return answer(ExitError)
	case err == nil && t.keeps:
		return answer(ExitNo)
	default:
		return err
	}
}

func (p *previewOptions) complete() (preview.Options, error) {
	options := p.options
	files := p.filenames()
	switch {
	case len(files.Filenames) == 0 && files.Kustomize == "":
		return options, errors.New("requires manifests; name files with -f, or a kustomization with -k")
	case options.ForceConflicts && !options.ServerSide:
		return options, errors.New("accepts --force-conflicts with --server-side only")
	}
	if err := p.check(); err != nil {
		return options, err
	}
	validations := map[string]string{"strict": "Strict", "true": "Strict", "warn": "Warn", "ignore": "Ignore", "false": "Ignore"}
	if options.Validate = validations[options.Validate]; options.Validate == "" {
		return options, fmt.Errorf("--validate=%s is not known; write strict, warn or ignore", p.options.Validate)
	}
	configuration, err := p.configuration(p.config)
	if err != nil {
		return options, err
	}
	options.Managers = configuration.Managers()
	options.Rules, err = configuration.Rules()
	return options, err
}

func (p *previewOptions) filenames() resource.FilenameOptions { return p.files.ToOptions() }

func (p *previewOptions) applications(ctx context.Context) ([]source.Application, []string, error) {
	configuration, err := p.configuration(p.config)
	if err != nil {
		return nil, nil, err
	}
	reader := source.Reader{Cluster: p.cluster, In: p.In, Configuration: configuration}
	query := source.Query{Files: p.filenames(), Selector: p.selector}
	return reader.ReadApplications(ctx, query, resource.FilenameOptions{Filenames: p.live})
}

// configuration reads the file of --config; without one, it is the default.
func (s *shared) configuration(file string) (config.HandoffConfiguration, error) {
	if file == "" {
		return config.Default(), nil
	}
	return config.Read(file)
}
