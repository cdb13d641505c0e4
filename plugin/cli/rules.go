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

type rulesOptions struct {
	shared   *shared
	subjects inputs
	output   outputFlags
	suggest  bool
}

func (s *shared) newRules() *cobra.Command {
	r := &rulesOptions{shared: s}
	c := &cobra.Command{
		Use:   "rules [TYPE...] [-A | -f FILE]",
		Short: "Show the rules that assign fields to controllers",
		Long: `Shows the rules in force, in the order in which they apply, and what each of them is about in a namespace or, with -A, in the cluster.

OBJECTS is the number of objects that the rule selects and that handoff acts on. OWNED is the number of their fields that a writer of
the rule owns: these are kept when a manifest is applied. Notes below the table name rules that select nothing, that no writer has used
yet, and that contradict an earlier rule, which decides.

Without a TYPE, the command reads the kinds that the rules name and, for rules about any kind, all kinds with a scale subresource.
The annotation ownership-handoff.io/controller-fields of single objects is not shown: see kubectl handoff explain.

With --suggest, the command shows the packs that are not in the configuration and would keep something: the number of fields that a
writer of the pack owns and that the last-applied configuration sets or, for objects without one, that an apply can set. Objects for
which handoff is off count as well. docs/catalogue.md describes the packs.`,
		Example: `  # Show the rules, and what they are about in all namespaces
  kubectl handoff rules -A

  # Show what a configuration would be about, before it is used
  kubectl handoff rules --config handoff.yaml -n shop

  # Show the packs that the cluster needs
  kubectl handoff rules --suggest -A

  # Show rules about any kind for ConfigMaps and Services
  kubectl handoff rules configmaps services -A`,
		RunE: func(c *cobra.Command, args []string) error { return r.run(c.Context(), args) },
	}
	r.subjects.addObjects(c)
	c.Flags().BoolVar(&r.suggest, "suggest", false, "Show the packs that would keep more fields, instead of the rules.")
	r.output.withoutWide = true
	r.output.add(c)
	return c
}

func (r *rulesOptions) run(ctx context.Context, args []string) error {
	types, err := typesOf(args)
	if err != nil {
		return err
	}
	reader, gaps, err := r.shared.reader(ctx, &r.subjects)
	if err != nil {
		return err
	}
	in, err := r.shared.installation(ctx, r.subjects.offline())
	if err != nil {
		return err
	}
	report, suggestions, packs := rules.Of(reader.Configuration), rules.Suggestions{}, []string(nil)
	if r.suggest {
		if reader.Configuration, packs, err = rules.WithAllPacks(reader.Configuration); err != nil {
			return err
		}
	}
	more, err := r.each(ctx, reader, types, func(s source.Subject) error {
		if r.suggest {
			return suggestions.Add(s, packs)
		}
		if !in.Effect(ctx, installation.ObjectOf(s.Kind, s.Namespace, s.Object)).On() && !r.subjects.offline() {
			return nil
		}
		return report.Add(s)
	})
	if err != nil {
		return err
	}
	report.Finish()
	switch out := r.shared.env.IOStreams.Out; {
	case r.suggest && r.output.isData():
		err = printData(r.shared, &r.output, "Suggestion", suggestions, false)
	case r.suggest:
		err = suggestions.Table(out)
	case r.output.isData():
		err = printData(r.shared, &r.output, "Rule", report, false)
	default:
		err = report.Table(out)
	}
	if err != nil {
		return err
	}
	return r.shared.finish(append(gaps, more...))
}

// each calls add with each object that the rules of the configuration are about, once. What cannot be read is a gap.
func (r *rulesOptions) each(
	ctx context.Context, reader source.Reader, types []string, add func(source.Subject) error,
) (gaps []string, err error) {
	queries, err := r.queries(types, reader)
	if err != nil {
		return nil, err
	}
	readBy := map[schema.GroupKind]int{} // the query that has read the objects of a kind
	for i, query := range queries {
		more, err := r.add(ctx, reader, query, func(s source.Subject) error {
			kind := s.Kind.GroupKind()
			if by, read := readBy[kind]; read && by != i {
				return nil
			}
			readBy[kind] = i
			return add(s)
		})
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, more...)
	}
	return gaps, nil
}

// queries returns the queries for the objects to read: of the types, or of those that the rules are about and that the API server
// serves.
func (r *rulesOptions) queries(types []string, reader source.Reader) (queries []source.Query, err error) {
	named, anyKind := rules.Types(reader.Configuration)
	switch {
	case len(reader.Configuration.Rules) == 0:
		return nil, nil
	case len(types) > 0 || r.subjects.offline():
		return []source.Query{r.subjects.query(types...)}, nil
	case anyKind:
		queries = append(queries, r.subjects.query())
	}
	mapper, err := r.shared.cluster.ToRESTMapper()
	if err != nil {
		return nil, source.Advise(err, "")
	}
	for _, resource := range named {
		if _, err := mapper.ResourceFor(resource.WithVersion("")); !meta.IsNoMatchError(err) {
			queries = append(queries, r.subjects.query(resource.String()))
		}
	}
	return queries, nil
}

// add calls add with the objects of a query. What cannot be read is a gap.
func (r *rulesOptions) add(
	ctx context.Context, reader source.Reader, query source.Query, add func(source.Subject) error,
) (gaps []string, err error) {
	survey, err := reader.Survey(ctx, query)
	if err != nil {
		return []string{err.Error()}, ctx.Err()
	}
	err = survey.Each(ctx, func(_ string, s source.Subject, _ int64) error {
		if err := add(s); err != nil {
			gaps = append(gaps, err.Error())
		}
		return ctx.Err()
	})
	if err != nil {
		gaps = append(gaps, err.Error())
	}
	return append(gaps, survey.Gaps...), ctx.Err()
}
