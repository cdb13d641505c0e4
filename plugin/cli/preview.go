package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

Fields that handoff acts on come first. The values come from dry runs of the API server, so they include defaults and the
effects of other webhooks. Status fields, server bookkeeping and the last-applied annotation are left out. If handoff does
not answer, or with --config, this command decides what handoff would keep. The webhook's warnings follow the table: they
contain the owners, and what to do.

The exit code is 0 if handoff would not change the result of the apply, 1 if it would keep a field, and greater than 1 on
errors, as with kubectl diff.`,
		Example: `  # Preview an apply
  kubectl handoff preview -f shop.yaml

  # Preview a server-side apply
  kubectl handoff preview --server-side -f shop.yaml`,
		RunE: func(c *cobra.Command, _ []string) error { return s.preview(c, options) },
	}
	s.manifestFlags(c, "Files, directories or URLs that contain the manifests; - is standard input.", &s.manifests.Kustomize)
	s.selectorFlag(c, "the manifests")
	flags := c.Flags()
	flags.BoolVar(&options.ServerSide, "server-side", false, "Preview kubectl apply --server-side.")
	flags.BoolVar(&options.ForceConflicts, "force-conflicts", false, "Preview a server-side apply with --force-conflicts.")
	flags.StringVar(&options.FieldManager, "field-manager", "", "Field manager of the apply; defaults to kubectl's own.")
	choiceFlag(c, &options.Validate, "validate",
		`How to handle unknown fields: "strict" (or true, the default), "warn" or "ignore" (or false), as with kubectl apply.`,
		"strict", "warn", "ignore", "true", "false")
	s.dataFlag(c)
	return c
}

func (s *shared) preview(c *cobra.Command, options preview.Options) error {
	if err := s.manifests.RequireFilenameOrKustomize(); err != nil {
		return usage(c, "%w", err)
	}
	if options.ForceConflicts && !options.ServerSide {
		return usage(c, "--force-conflicts requires --server-side")
	}
	options.Validate = map[string]string{
		"strict": metav1.FieldValidationStrict, "true": metav1.FieldValidationStrict, "warn": metav1.FieldValidationWarn,
		"ignore": metav1.FieldValidationIgnore, "false": metav1.FieldValidationIgnore,
	}[options.Validate]
	manifests, err := source.ReadFiles(s.env.IOStreams.In, s.manifests, s.selector)
	if err == nil && len(manifests) == 0 {
		err = errors.New("the files contain no objects to apply; name other files with -f, or omit --selector")
	}
	if err != nil {
		return err
	}
	reader, in, err := s.objects(c.Context())
	if err != nil {
		return err
	}
	options.Reader, options.Installation, options.Configured = reader, in, s.config != ""
	var previews []preview.Preview
	for _, manifest := range manifests {
		one, err := preview.Of(c.Context(), manifest, options)
		if err != nil {
			s.failures = append(s.failures, err)
			continue
		}
		if one.Refused != "" && !one.Acts {
			s.failures = append(s.failures, fmt.Errorf("%s: %s", one.Object, one.Refused))
		}
		previews, s.gaps, s.negative = append(previews, one), append(s.gaps, one.Gaps...), s.negative || one.Keeps
	}
	return show(s, "Preview", previews, false, func() error { return s.writePreviews(previews) })
}

// writePreviews writes the previews, with an empty line before and after each table.
func (s *shared) writePreviews(previews []preview.Preview) (err error) {
	out := s.env.IOStreams.Out
	for i := range previews {
		if i > 0 && len(previews[i-1].Fields)+len(previews[i].Fields) > 0 {
			err = cmp.Or(err, table.Lines(out, ""))
		}
		err = cmp.Or(err, previews[i].Write(out))
	}
	return err
}
