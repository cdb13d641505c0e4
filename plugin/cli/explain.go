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

// apiVersion is that of all data that is printed.
const apiVersion = explain.APIVersion

type explainOptions struct {
	*shared
	subjectFlags
	outputFlags
	owners []string
}

func (s *shared) newExplain() *cobra.Command {
	e := &explainOptions{shared: s}
	c := &cobra.Command{
		Use:   "explain (TYPE/NAME | TYPE [NAME] | -f FILE) [FIELD]",
		Short: "Say whose the fields of objects are, and why",
		Long: `Says of every field of an object what it is, whose it is, who claims it, since when, and whether the manifest that was
applied last declares it. What one owner holds whole is one line of the tree; -o wide has a line for each field, with
all who claim it.

With a FIELD, one sentence says why that is what it is, what an apply of the same manifest would do to it and, in
brackets, what handoff would do about that. Write FIELD as the API server prints it in conflicts, such as
.spec.template.spec.containers[name="app"].image, or as JSONPath; the leading dot can be left out, and * stands for
any name or key. A FIELD that holds others is explained part by part.

With -f, objects are read from files, which kubectl get -o yaml --show-managed-fields writes, and no cluster is asked:
add the HorizontalPodAutoscalers, and the CustomResourceDefinitions of custom resources, to the files.

Owners: autoscaler (of the field behind /scale), controller (by a rule of --config or of the object's annotation),
imperative (a person's command), other (a client that no list names, such as another controller), manifest, default (the
API server put it in) and unknown (nothing records it). MANIFEST is yes, no, another value that the manifest declares,
or ? where the manifest is recorded nowhere, as that of Helm 3. What a Secret holds is not shown.`,
		Example: `  # the fields of a Deployment, as a tree
  kubectl handoff explain deployment/web

  # why there are so many replicas
  kubectl handoff explain deployment/web .spec.replicas

  # all that autoscalers own, in all namespaces
  kubectl handoff explain deployments,statefulsets -A --owner autoscaler

  # without a cluster
  kubectl get deployment,hpa -o yaml --show-managed-fields > shop.yaml
  kubectl handoff explain -f shop.yaml`,
		Args:              cobra.MaximumNArgs(3),
		RunE:              func(c *cobra.Command, args []string) error { return e.run(c.Context(), args) },
		ValidArgsFunction: e.complete,
	}
	e.subjectFlags.add(c)
	c.Flags().StringSliceVar(&e.owners, "owner", nil, "Only fields of these owners: "+strings.Join(ownerWords(), ", ")+".")
	must(e.outputFlags.add(c))
	must(c.RegisterFlagCompletionFunc("owner", cobra.FixedCompletions(ownerWords(), noFiles)))
	return c
}

// must is for what only a mistake in this package can make fail.
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
	if err := e.check(); err != nil {
		return err
	}
	chosen, err := e.chosen()
	if err != nil {
		return err
	}
	objects, field := e.split(args)
	if len(objects) == 0 && !e.offline() {
		return errors.New("requires an object, such as deployment/web, or files, with -f")
	}
	reading, err := e.read(ctx, &e.subjectFlags, objects)
	if err != nil {
		return err
	}
	if len(reading.Subjects) == 0 {
		return e.nothing(objects)
	}
	explanations, gaps, err := explainAll(reading, field)
	if err != nil {
		return err
	}
	if err := e.applicable(explanations, chosen); err != nil {
		return err
	}
	if err := e.write(explanations, field != "", chosen); err != nil {
		return err
	}
	return finish(e.ErrOut, gaps)
}

// explainAll explains what has been read. Of several objects, those that cannot be explained are gaps; those that lack the
// field are left out.
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
		gaps = append(gaps, explained.Gaps...)
	}
	if len(explanations) == 0 {
		return nil, nil, first
	}
	return explanations, gaps, nil
}
