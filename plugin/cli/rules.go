package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/plugin/rules"
)

func (s *shared) newRules() *cobra.Command {
	var suggest bool
	c := &cobra.Command{
		Use:   "rules [TYPE... [-A] | -f FILE]",
		Short: "Show the rules that assign fields to controllers",
		Long: `Shows the rules in force, in the order in which they apply, and what each is about in a namespace or, with -A, in the cluster.

OBJECTS is the number of objects that the rule selects and, in a cluster, that handoff acts on. OWNED is the number of their fields
that a writer of the rule owns: these are kept when a manifest is applied. Notes below the table name rules that select nothing, that
no writer has used yet, and that contradict an earlier rule, which decides.

Without a TYPE, the command reads the kinds that the rules name and, for rules about any kind, all kinds with a scale subresource.
The annotation ownership-handoff.io/controller-fields of single objects is not shown: see kubectl handoff explain.

With --suggest, objects for which handoff is off count as well. OWNED is then the number of fields that the last-applied configuration
sets or, for objects without one, that an apply can set. docs/catalogue.md describes the packs.`,
		Example: `  # Show the rules, and what they are about in all namespaces
  kubectl handoff rules -A

  # Show what a configuration would be about, before it is used
  kubectl handoff rules --config handoff.yaml -n shop

  # Show the packs that the cluster needs
  kubectl handoff rules --suggest -A`,
		RunE: func(c *cobra.Command, args []string) error { return s.rules(c.Context(), typesOf(args), suggest) },
	}
	s.objectFlags(c)
	c.Flags().BoolVar(&suggest, "suggest", false, "Show the packs that would keep more fields, instead of the rules.")
	s.dataFlag(c)
	return c
}

func (s *shared) rules(ctx context.Context, types []string, suggest bool) error {
	reader, in, err := s.objects(ctx)
	if err != nil {
		return err
	}
	report, gaps, err := rules.Of(ctx, reader, in, types, suggest)
	if err != nil {
		return err
	}
	s.gaps = append(s.gaps, gaps...)
	return show(s, "Rule", report, false, func() error { return report.Table(s.env.IOStreams.Out, suggest) })
}
