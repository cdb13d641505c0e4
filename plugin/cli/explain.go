package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// apiVersion is the API version of all printed data.
const apiVersion = explain.APIVersion

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
	must(e.output.add(c))
	must(c.RegisterFlagCompletionFunc("owner", cobra.FixedCompletions(ownerWords(), noFiles)))
	return c
}

// must panics on an error that only a bug in this package can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func ownerWords() []string {
	var words []string
	for owner := ownership.Autoscaler; owner >= ownership.Other; owner-- {
		words = append(words, strings.ToLower(owner.String()))
	}
	return words
}

func (e *explainOptions) run(ctx context.Context, args []string) error {
	if err := e.output.check(); err != nil {
		return err
	}
	chosen, err := e.chosen()
	if err != nil {
		return err
	}
	objects, field := e.split(args)
	if len(objects) == 0 && !e.subjects.offline() {
		return errors.New("requires an object, such as deployment/web, or files, with -f")
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
	if err := e.applicable(explanations, chosen); err != nil {
		return err
	}
	if err := e.write(explanations, field != "", isNamed(objects), chosen); err != nil {
		return err
	}
	return finish(e.shared.env.IOStreams.ErrOut, gaps)
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
