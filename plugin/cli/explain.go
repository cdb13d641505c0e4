package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

func (s *shared) newExplain() *cobra.Command {
	var owners []string
	words := []string{"autoscaler", "controller", "imperative", "other", "manifest", "default", "unknown"} // ownership.Owner
	c := &cobra.Command{
		Use:   "explain (TYPE/NAME | TYPE [NAME] | -f FILE) [FIELD]",
		Short: "Show who owns each field, and why",
		Long: `Shows the value, owner and field manager of every field of an object, the time of its last change, and whether the
last-applied manifest declares it. Subtrees with a single owner take one line of the tree; -o yaml prints each field, with
all of its field managers.

With a FIELD, prints one sentence that says who set it, what an apply of the same manifest would do to it and, in
parentheses, how handoff would respond. Write FIELD as the API server prints it in conflicts, such as
.spec.template.spec.containers[name="app"].image, or as JSONPath. The leading dot is optional; * matches any name or key.

Owners:
  autoscaler   an autoscaler owns the field that the scale subresource sets
  controller   a rule of --config or the object's annotation assigns the field to a controller
  imperative   a user set the field with an imperative command
  other        the field manager is not in the configuration, such as another controller
  manifest     the manifest declares the field
  default      the API server set the field as a default
  unknown      the owner is not recorded

MANIFEST is yes, no, the different value that the manifest declares, or ? if that is not recorded: with Helm 3, and for a
field that another manager has taken over since a server-side apply.`,
		Example: `  # Show the fields of a Deployment as a tree
  kubectl handoff explain deployment/web

  # Show why a Deployment has so many replicas
  kubectl handoff explain deployment/web .spec.replicas

  # Show all fields that autoscalers own, in all namespaces
  kubectl handoff explain deployments,statefulsets -A --owner autoscaler

  # Explain files, without a cluster
  kubectl get deployment,hpa -o yaml --show-managed-fields > shop.yaml
  kubectl handoff explain -f shop.yaml`,
		Args: between(0, 3, "accepts one object and one FIELD"),
		RunE: func(c *cobra.Command, args []string) error { return s.explain(c, args, owners) },
	}
	s.objectFlags(c)
	c.Flags().Func("owner", "Show only fields of these owners: "+strings.Join(words, ", ")+".", func(text string) error {
		owners = append(owners, strings.Split(strings.ToLower(text), ",")...)
		return oneOf(words, owners...)
	})
	s.dataFlag(c)
	return c
}

func (s *shared) explain(c *cobra.Command, args, owners []string) error {
	chosen := func(owner ownership.Owner) bool {
		return len(owners) == 0 || slices.Contains(owners, strings.ToLower(owner.String()))
	}
	objects, field := s.split(args)
	if len(objects) == 0 && s.files.RequireFilenameOrKustomize() != nil {
		return usage(c, "requires an object, such as deployment/web, or files, with -f")
	}
	reader, _, err := s.objects(c.Context())
	if err != nil {
		return err
	}
	subjects, unread, err := reader.Read(c.Context(), objects...)
	switch {
	case err != nil:
		return err
	case len(subjects) == 0:
		return fmt.Errorf("no %s found; choose other objects, or another namespace with -n", cmp.Or(strings.Join(objects, " "), "objects"))
	}
	s.gaps = append(unread, s.gaps...)
	explanations, err := s.explainAll(subjects, field, chosen)
	if err != nil {
		return err
	}
	items := make([]explain.Data, len(explanations))
	for i, explained := range explanations {
		items[i] = explained.Data(chosen)
	}
	// One object is named as TYPE/NAME or TYPE NAME.
	named := len(objects) == 2 || len(objects) == 1 && strings.Contains(objects[0], "/")
	return show(s, "Explanation", items, named, func() error { return s.writeExplanations(explanations, chosen, field != "") })
}

// split separates the objects in the arguments from the FIELD.
func (s *shared) split(args []string) (objects []string, field string) {
	inFiles, most := s.files.RequireFilenameOrKustomize() == nil, 2
	isField := func(word string) bool {
		kind, _, named := strings.Cut(word, "/")
		// In files, an object has a name, so a word without one is a FIELD without a leading dot.
		return strings.ContainsAny(word[:min(1, len(word))], ".[{$") || inFiles && (!named || strings.ContainsAny(kind, `["`))
	}
	if len(args) > 0 && strings.Contains(args[0], "/") || s.selector != "" || s.allNamespaces {
		most = 1
	}
	number := slices.IndexFunc(args, isField) // of the arguments that name objects
	if number < 0 || number > most {
		number = min(len(args), most)
	}
	return args[:number], strings.Join(args[number:], " ")
}

// explainAll explains all objects that were read. If at least one can be explained, objects that cannot are gaps, and of several
// objects, those without a field to show are left out.
func (s *shared) explainAll(of []source.Subject, field string, chosen func(ownership.Owner) bool) (all []explain.Explanation, first error) {
	for _, subject := range of {
		explained, err := explain.Of(subject)
		if err != nil {
			s.gaps = append(s.gaps, err.Error())
		} else if field != "" {
			explained, _, err = explained.Find(field)
		}
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		s.gaps = append(s.gaps, explained.Subject.Gaps...)
		all = append(all, explained)
	}
	if len(all) == 0 {
		return nil, first
	}
	if len(of) > 1 {
		isChosen := func(f ownership.OwnedField) bool { return chosen(f.Owner.Kind) }
		all = slices.DeleteFunc(all, func(e explain.Explanation) bool { return !slices.ContainsFunc(e.Fields, isChosen) })
	}
	return all, nil
}

// writeExplanations writes the explanations for people: a table or, for fields, sentences.
func (s *shared) writeExplanations(all []explain.Explanation, chosen func(ownership.Owner) bool, sentences bool) (err error) {
	out := s.env.IOStreams.Out
	for i, explained := range all {
		switch {
		case sentences && len(all) > 1:
			err = cmp.Or(err, explained.Sentences(out, explained.Subject.Title()+": ", chosen))
		case sentences:
			err = explained.Sentences(out, "", chosen)
		case i > 0:
			err = cmp.Or(err, table.Lines(out, ""), explained.Tree(out, s.env.Now(), chosen))
		default:
			err = explained.Tree(out, s.env.Now(), chosen)
		}
	}
	return err
}
