package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

type explainOptions struct {
	shared   *shared
	subjects inputs
	output   outputFlags
	owners   []string
}

func (s *shared) newExplain() *cobra.Command {
	e := &explainOptions{shared: s}
	c := &cobra.Command{
		Use:   "explain (TYPE/NAME | TYPE [NAME] | -f FILE) [FIELD]",
		Short: "Show who owns each field, and why",
		Long: `Shows the value, owner and field manager of every field of an object, the time of its last change, and whether the
last-applied manifest declares it. Subtrees with a single owner take one line of the tree; -o wide prints one line for
each field, with all of its field managers.

With a FIELD, prints one sentence that says who set it, what an apply of the same manifest would do to it and, in
parentheses, how handoff would respond. Write FIELD as the API server prints it in conflicts, such as
.spec.template.spec.containers[name="app"].image, or as JSONPath. The leading dot is optional, and * matches any name or
key. For a FIELD with nested fields, each of them is explained.

With -f, objects are read from files instead of a cluster. Write the files with
kubectl get -o yaml --show-managed-fields, and include the HorizontalPodAutoscalers, and the CustomResourceDefinitions of
custom resources.

Owners:
  autoscaler   a HorizontalPodAutoscaler owns the field that the scale subresource sets
  controller   a rule of --config or the object's annotation assigns the field to a controller
  imperative   a user set the field with an imperative command
  other        the field manager is not in the configuration, such as another controller
  manifest     the manifest declares the field
  default      the API server set the field as a default
  unknown      the owner is not recorded

MANIFEST is yes, no, the different value that the manifest declares, or ? if that is not recorded: with Helm 3, and for a
field that another manager has set since a server-side apply.
The contents of Secrets are not shown.`,
		Example: `  # Show the fields of a Deployment as a tree
  kubectl handoff explain deployment/web

  # Show why a Deployment has so many replicas
  kubectl handoff explain deployment/web .spec.replicas

  # Show all fields that autoscalers own, in all namespaces
  kubectl handoff explain deployments,statefulsets -A --owner autoscaler

  # Explain files, without a cluster
  kubectl get deployment,hpa -o yaml --show-managed-fields > shop.yaml
  kubectl handoff explain -f shop.yaml`,
		Args:              cobra.MaximumNArgs(3),
		RunE:              func(c *cobra.Command, args []string) error { return e.run(c.Context(), args) },
		ValidArgsFunction: e.complete,
	}
	e.subjects.addObjects(c)
	c.Flags().StringSliceVar(&e.owners, "owner", nil, "Show only fields of these owners: "+strings.Join(ownerWords(), ", ")+".")
	e.output.add(c)
	must(c.RegisterFlagCompletionFunc("owner", cobra.FixedCompletions(ownerWords(), noFiles)))
	return c
}

func ownerWords() []string {
	var words []string
	for owner := ownership.Autoscaler; owner >= ownership.Other; owner-- {
		words = append(words, strings.ToLower(owner.String()))
	}
	return words
}

func (e *explainOptions) run(ctx context.Context, args []string) error {
	for _, word := range e.owners {
		if !slices.Contains(ownerWords(), strings.ToLower(word)) {
			return fmt.Errorf("invalid owner %q; use one of %s", word, strings.Join(ownerWords(), ", "))
		}
	}
	objects, field := e.split(args)
	if len(objects) == 0 && !e.subjects.offline() {
		return usagef("requires an object, such as deployment/web, or files, with -f")
	}
	reading, err := e.shared.read(ctx, &e.subjects, objects)
	if err != nil {
		return err
	}
	if len(reading.Subjects) == 0 {
		return e.notFound(objects)
	}
	explanations, gaps, err := explainAll(reading, field)
	if err != nil {
		return err
	}
	if err := e.applicable(explanations); err != nil {
		return err
	}
	if e.output.isData() {
		items := make([]any, len(explanations))
		for i, explained := range explanations {
			items[i] = explained.Data(e.chosen)
		}
		// One object is named as TYPE/NAME or TYPE NAME.
		named := len(objects) == 2 || len(objects) == 1 && strings.Contains(objects[0], "/")
		err = printData(e.shared, &e.output, "Explanation", items, named)
	} else {
		err = e.write(explanations, field != "")
	}
	if err != nil {
		return err
	}
	return e.shared.finish(gaps)
}

// split separates the objects in the arguments from the FIELD.
func (e *explainOptions) split(args []string) (objects []string, field string) {
	isField := func(word string) bool { return strings.ContainsAny(word[:min(1, len(word))], ".[{$") }
	maxObjects := 1 // arguments that name objects
	switch {
	case len(args) == 0:
		return nil, ""
	case isField(args[0]), e.subjects.offline() && isBareField(args[0]):
		maxObjects = 0
	case len(args) > 1 && !strings.Contains(args[0], "/") && e.subjects.selector == "" && !e.subjects.allNamespaces &&
		!isField(args[1]):
		maxObjects = 2
	}
	maxObjects = min(maxObjects, len(args))
	return args[:maxObjects], strings.Join(args[maxObjects:], " ")
}

// isBareField reports whether a word is a FIELD without a leading dot. It is only recognized where a TYPE is not allowed.
func isBareField(word string) bool {
	kind, _, object := strings.Cut(word, "/")
	return !object || strings.ContainsAny(kind, "[\"")
}

// notFound returns the error that no object matches, with a remedy.
func (e *explainOptions) notFound(objects []string) error {
	remedy := "choose another namespace with -n, or all with -A"
	if e.subjects.allNamespaces || e.subjects.offline() {
		remedy = "omit --selector, or name other objects"
	}
	return fmt.Errorf("no %s found; %s", cmp.Or(strings.Join(objects, " "), "objects"), remedy)
}

// chosen reports whether --owner selects an owner.
func (e *explainOptions) chosen(owner ownership.Owner) bool {
	same := func(word string) bool { return strings.EqualFold(word, owner.String()) }
	return len(e.owners) == 0 || slices.ContainsFunc(e.owners, same)
}

// applicable returns an error if --owner asks only for the autoscaler of an object that cannot have one.
func (e *explainOptions) applicable(explanations []explain.Explanation) error {
	only := len(e.owners) == 1 && e.chosen(ownership.Autoscaler)
	if s := explanations[0].Subject; only && len(explanations) == 1 && s.Context.Scale == nil && len(s.Gaps) == 0 {
		return fmt.Errorf("%s: kind %s has no scale subresource, so no autoscaler can own a field; "+
			"omit --owner to see who owns each field", s, s.Kind.Kind)
	}
	return nil
}

// explainAll explains all objects that were read. If at least one can be explained, objects that cannot are gaps, and objects
// without the field are left out.
func explainAll(reading source.Reading, field string) (explanations []explain.Explanation, gaps []string, err error) {
	gaps = reading.Gaps
	var first error
	for _, s := range reading.Subjects {
		explained, err := explain.Of(s)
		if err != nil {
			first = cmp.Or(first, err)
			gaps = append(gaps, err.Error())
			continue
		}
		if field != "" {
			if explained, err = explained.Find(field); err != nil {
				first = cmp.Or(first, err)
				continue
			}
		}
		explanations = append(explanations, explained)
		gaps = append(gaps, explained.Subject.Gaps...)
	}
	if len(explanations) == 0 {
		return nil, nil, first
	}
	return explanations, gaps, nil
}

// write writes the explanations for people: a table or, for fields, sentences.
func (e *explainOptions) write(explanations []explain.Explanation, sentences bool) error {
	out, style := e.shared.env.IOStreams.Out, table.Style{Color: e.shared.env.Color, Now: e.shared.env.Now()}
	several := len(explanations) > 1
	written := 0
	for _, explained := range explanations {
		isChosen := func(f ownership.Field) bool { return e.chosen(f.Owner.Kind) }
		if several && !slices.ContainsFunc(explained.Fields, isChosen) {
			continue
		}
		written++
		if written > 1 && (!sentences || e.output.isWide()) {
			if err := table.Lines(out, ""); err != nil {
				return err
			}
		}
		prefix := ""
		if several {
			prefix = explained.Subject.Title() + ": "
		}
		var err error
		switch {
		case e.output.isWide():
			err = explained.Wide(out, style, e.chosen)
		case sentences:
			err = explained.Sentences(out, prefix, e.chosen)
		default:
			err = explained.Tree(out, style, e.chosen)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
