package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/explanation"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/source"
)

// apiVersion is that of all data that is printed.
const apiVersion = explanation.APIVersion

type explain struct {
	*shared
	subjectFlags
	outputFlags
	owners []string
}

func (s *shared) newExplain() *cobra.Command {
	e := &explain{shared: s}
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
imperative (a person's command, or a client that no list names), manifest, default (the API server put it in) and
unknown (nothing records it). MANIFEST is yes, no, another value that the manifest declares, or ? where the manifest
is recorded nowhere, as that of Helm 3. What a Secret holds is not shown.`,
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
	for owner := ownership.Autoscaler; owner >= ownership.Unknown; owner-- {
		words = append(words, strings.ToLower(owner.String()))
	}
	return words
}

func (e *explain) run(ctx context.Context, args []string) error {
	if e.isData() && !slices.Contains(e.formats(), strings.SplitN(e.format, "=", 2)[0]) {
		return fmt.Errorf("output format %q is not known; write one of %s", e.format, strings.Join(e.formats(), ", "))
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

// nothing says that no object is there, and where to look for some.
func (e *explain) nothing(objects []string) error {
	where := "look into other namespaces with -n or -A"
	if e.allNamespaces || e.offline() {
		where = "leave out --selector, or name others"
	}
	return fmt.Errorf("there are no %s; %s", cmp.Or(strings.Join(objects, " "), "objects"), where)
}

// split tells the objects of the arguments from the FIELD.
func (e *explain) split(args []string) (objects []string, field string) {
	most := 1 // words that name objects
	switch {
	case len(args) == 0:
		return nil, ""
	case isField(args[0], e.offline()):
		most = 0
	case len(args) > 1 && !strings.Contains(args[0], "/") && e.selector == "" && !e.allNamespaces && !isField(args[1], false):
		most = 2
	}
	if len(args) <= most {
		return args, ""
	}
	return args[:most], strings.Join(args[most:], " ")
}

// isField says whether a word is a FIELD and no object. One without a leading dot is known only where no TYPE can stand.
func isField(word string, offline bool) bool {
	if strings.ContainsAny(word[:min(1, len(word))], ".[{$") {
		return true
	}
	kind, _, object := strings.Cut(word, "/")
	return offline && (!object || strings.ContainsAny(kind, "[\""))
}

func (e *explain) chosen() (func(ownership.Owner) bool, error) {
	words := ownerWords()
	for _, word := range e.owners {
		if !slices.Contains(words, strings.ToLower(word)) {
			return nil, fmt.Errorf("owner %q is not known; write one of %s", word, strings.Join(words, ", "))
		}
	}
	return func(owner ownership.Owner) bool {
		same := func(word string) bool { return strings.EqualFold(word, owner.String()) }
		return len(e.owners) == 0 || slices.ContainsFunc(e.owners, same)
	}, nil
}

// explainAll explains what has been read. Of several objects, those that cannot be explained are gaps; those that lack the
// field are left out.
func explainAll(reading source.Reading, field string) (explanations []explanation.Explanation, gaps []string, err error) {
	gaps = reading.Gaps
	var first error
	for _, s := range reading.Subjects {
		explained, err := explanation.Of(s)
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

// applicable refuses a question for the autoscaler of an object that can have none.
func (e *explain) applicable(explanations []explanation.Explanation, chosen func(ownership.Owner) bool) error {
	only := len(e.owners) == 1 && chosen(ownership.Autoscaler)
	if first := explanations[0]; only && len(explanations) == 1 && first.Context.Scale == nil && len(first.Gaps) == 0 {
		return fmt.Errorf("%s: its kind, %s, has no scale subresource, so that no autoscaler can own a field of it; "+
			"leave out --owner to see whose its fields are", first, first.Kind.Kind)
	}
	return nil
}

func (e *explain) write(explanations []explanation.Explanation, asked bool, chosen func(ownership.Owner) bool) error {
	if e.isData() {
		items := make([]any, len(explanations))
		for i, explained := range explanations {
			items[i] = explained.Data(chosen)
		}
		return e.print(e.shared, "Explanation", items, true)
	}
	several := len(explanations) > 1
	written := 0
	for _, explained := range explanations {
		ofChosen := func(f ownership.Field) bool { return chosen(f.Owner) }
		if several && len(explained.Select(ofChosen).Fields) == 0 {
			continue
		}
		written++
		if written > 1 && (!asked || e.isWide()) {
			if _, err := fmt.Fprintln(e.Out); err != nil {
				return err
			}
		}
		if err := e.writeOne(explained, asked, several, chosen); err != nil {
			return err
		}
	}
	return nil
}

func (e *explain) writeOne(explained explanation.Explanation, asked, several bool, chosen func(ownership.Owner) bool) error {
	style := explanation.Style{Colour: e.Colour, Now: e.Now()}
	switch {
	case e.isWide():
		return explained.Wide(e.Out, style, chosen)
	case !asked:
		return explained.Tree(e.Out, style, chosen)
	case several:
		return explained.Sentences(e.Out, explained.Title()+": ", chosen)
	default:
		return explained.Sentences(e.Out, "", chosen)
	}
}
