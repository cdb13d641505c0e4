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

// owners are the values of --owner.
type owners []string

func (s *shared) newExplain() *cobra.Command {
	var only owners
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
		Args:              between(0, 3, "accepts one object and one FIELD"),
		RunE:              func(c *cobra.Command, args []string) error { return s.explain(c.Context(), args, only) },
		ValidArgsFunction: s.completeObjects,
	}
	s.objectFlags(c)
	c.Flags().StringSliceVar((*[]string)(&only), "owner", nil, "Show only fields of these owners: "+strings.Join(ownerWords(), ", ")+".")
	s.dataFlag(c, "Output format.", wide)
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

func (s *shared) explain(ctx context.Context, args []string, only owners) error {
	for _, word := range only {
		if !slices.Contains(ownerWords(), strings.ToLower(word)) {
			return fmt.Errorf("invalid owner %q; use one of %s", word, strings.Join(ownerWords(), ", "))
		}
	}
	objects, field := s.split(args)
	if len(objects) == 0 && !s.hasFiles() {
		return usagef("requires an object, such as deployment/web, or files, with -f")
	}
	reader, gaps, err := s.objects(ctx)
	if err != nil {
		return err
	}
	subjects, unread, err := reader.Read(ctx, objects...)
	if err != nil {
		return err
	}
	if len(subjects) == 0 {
		return s.notFound(objects)
	}
	explanations, more, err := explainAll(subjects, field)
	if err != nil {
		return err
	}
	if err := only.applicable(explanations); err != nil {
		return err
	}
	items := make([]explain.Data, len(explanations))
	for i, explained := range explanations {
		items[i] = explained.Data(only.include)
	}
	// One object is named as TYPE/NAME or TYPE NAME.
	named := len(objects) == 2 || len(objects) == 1 && strings.Contains(objects[0], "/")
	if err := show(s, "Explanation", items, named, func() error { return s.writeExplanations(explanations, only, field != "") }); err != nil {
		return err
	}
	return s.finish(slices.Concat(unread, gaps, more))
}

// split separates the objects in the arguments from the FIELD.
func (s *shared) split(args []string) (objects []string, field string) {
	isField := func(word string) bool { return strings.ContainsAny(word[:min(1, len(word))], ".[{$") }
	maxObjects := 1 // arguments that name objects
	switch {
	case len(args) == 0:
		return nil, ""
	case isField(args[0]), s.hasFiles() && isBareField(args[0]):
		maxObjects = 0
	case len(args) > 1 && !strings.Contains(args[0], "/") && s.selector == "" && !s.allNamespaces &&
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
func (s *shared) notFound(objects []string) error {
	remedy := "choose another namespace with -n, or all with -A"
	if s.allNamespaces || s.hasFiles() {
		remedy = "omit --selector, or name other objects"
	}
	return fmt.Errorf("no %s found; %s", cmp.Or(strings.Join(objects, " "), "objects"), remedy)
}

// include reports whether --owner selects an owner.
func (o owners) include(owner ownership.Owner) bool {
	same := func(word string) bool { return strings.EqualFold(word, owner.String()) }
	return len(o) == 0 || slices.ContainsFunc(o, same)
}

// applicable returns an error if --owner asks only for the autoscaler of an object that cannot have one.
func (o owners) applicable(explanations []explain.Explanation) error {
	only := len(o) == 1 && o.include(ownership.Autoscaler)
	if s := explanations[0].Subject; only && len(explanations) == 1 && s.Context.Scale == nil && len(s.Gaps) == 0 {
		return fmt.Errorf("%s: kind %s has no scale subresource, so no autoscaler can own a field; "+
			"omit --owner to see who owns each field", s, s.Kind.Kind)
	}
	return nil
}

// explainAll explains all objects that were read. If at least one can be explained, objects that cannot are gaps, and objects
// without the field are left out.
func explainAll(subjects []source.Subject, field string) (explanations []explain.Explanation, gaps []string, err error) {
	var first error
	for _, s := range subjects {
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

// writeExplanations writes the explanations for people: a table or, for fields, sentences.
func (s *shared) writeExplanations(explanations []explain.Explanation, only owners, sentences bool) error {
	out := s.env.IOStreams.Out
	several := len(explanations) > 1
	written := 0
	for _, explained := range explanations {
		isChosen := func(f ownership.Field) bool { return only.include(f.Owner.Kind) }
		if several && !slices.ContainsFunc(explained.Fields, isChosen) {
			continue
		}
		written++
		if written > 1 && (!sentences || s.output.isWide()) {
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
		case s.output.isWide():
			err = explained.Wide(out, s.style(), only.include)
		case sentences:
			err = explained.Sentences(out, prefix, only.include)
		default:
			err = explained.Tree(out, s.style(), only.include)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
