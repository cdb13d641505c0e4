package cli

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/rules"
	"github.com/ownership-handoff/handoff/plugin/source"
)

func (s *shared) newRules() *cobra.Command {
	var suggest bool
	c := &cobra.Command{
		Use:   "rules [TYPE... [-A] | -f FILE]",
		Short: "Show the rules that assign fields to controllers",
		Long: `Shows the rules in force, in the order in which they apply, and what each of them is about in a namespace or, with -A, in the cluster.

OBJECTS is the number of objects that the rule selects and that handoff acts on. OWNED is the number of their fields that a writer of
the rule owns: these are kept when a manifest is applied. Notes below the table name rules that select nothing, that no writer has used
yet, and that contradict an earlier rule, which decides.

Without a TYPE, the command reads the kinds that the rules name and, for rules about any kind, all kinds with a scale subresource.
The annotation ownership-handoff.io/controller-fields of single objects is not shown: see kubectl handoff explain.

With --suggest, the command shows the rules of packs that are not in the configuration and would keep something. OWNED is then the number
of fields that the last-applied configuration sets or, for objects without one, that an apply can set. Objects for which handoff is off
count as well. docs/catalogue.md describes the packs.`,
		Example: `  # Show the rules, and what they are about in all namespaces
  kubectl handoff rules -A

  # Show what a configuration would be about, before it is used
  kubectl handoff rules --config handoff.yaml -n shop

  # Show the packs that the cluster needs
  kubectl handoff rules --suggest -A

  # Show rules about any kind for ConfigMaps and Services
  kubectl handoff rules configmaps services -A`,
		RunE: func(c *cobra.Command, args []string) error { return s.rules(c, args, suggest) },
	}
	s.objectFlags(c)
	c.Flags().BoolVar(&suggest, "suggest", false, "Show the packs that would keep more fields, instead of the rules.")
	s.dataFlag(c)
	return c
}

func (s *shared) rules(c *cobra.Command, args []string, suggest bool) error {
	ctx := c.Context()
	types, err := typesOf(c, args)
	if err != nil {
		return err
	}
	reader, in, gaps, err := s.objects(ctx)
	if err != nil {
		return err
	}
	configuration := reader.Configuration
	if suggest {
		if reader.Configuration, err = rules.WithPacks(configuration); err != nil {
			return err
		}
	}
	report := rules.Of(reader.Configuration)
	more, err := s.eachRuled(ctx, reader, types, func(o source.Subject) error {
		if !suggest && !reader.Offline() && !in.Effect(ctx, installation.ObjectOf(o.Kind, o.Namespace, o.Object)).On() {
			return nil
		}
		return report.Add(o, suggest)
	})
	if err != nil {
		return err
	}
	if suggest {
		report = report.Suggested(configuration)
	} else {
		report.Finish()
	}
	err = show(s, "Rule", report, false, func() error { return report.Table(s.env.IOStreams.Out, suggest) })
	if err != nil {
		return err
	}
	return s.finish(append(gaps, more...), false)
}

// eachRuled calls add with each object that the rules of the configuration are about, once. What cannot be read is a gap.
func (s *shared) eachRuled(
	ctx context.Context, reader source.Reader, types []string, add func(source.Subject) error,
) (gaps []string, err error) {
	surveys, err := s.surveys(types, reader)
	if err != nil {
		return nil, err
	}
	readBy := map[schema.GroupKind]int{} // the survey that has read the objects of a kind
	for i, types := range surveys {
		survey, err := reader.Survey(ctx, types...)
		if err == nil {
			err = survey.Each(ctx, func(o source.Subject) error {
				if by, read := readBy[o.Kind.GroupKind()]; read && by != i {
					return nil
				}
				readBy[o.Kind.GroupKind()] = i
				if err := add(o); err != nil {
					gaps = append(gaps, err.Error())
				}
				return ctx.Err()
			})
			gaps = append(gaps, survey.Gaps...)
		}
		if err != nil {
			gaps = append(gaps, err.Error())
		}
	}
	return gaps, ctx.Err()
}

// surveys returns the types of each survey: those given, or those that the rules are about and that the API server serves.
func (s *shared) surveys(types []string, reader source.Reader) (surveys [][]string, err error) {
	named, anyKind := rules.Types(reader.Configuration)
	switch {
	case len(reader.Configuration.Rules) == 0:
		return nil, nil
	case len(types) > 0 || reader.Offline():
		return [][]string{types}, nil
	case anyKind:
		surveys = append(surveys, nil) // all with a scale subresource
	}
	mapper, err := s.cluster.ToRESTMapper()
	if err != nil {
		return nil, source.Advise(err, "")
	}
	for _, resource := range named {
		if _, err := mapper.ResourceFor(resource.WithVersion("")); !meta.IsNoMatchError(err) {
			surveys = append(surveys, []string{resource.String()})
		}
	}
	return surveys, nil
}
