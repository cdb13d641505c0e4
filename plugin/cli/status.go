package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

type statusOptions struct {
	shared *shared
	output outputFlags
	inputs inputs // -l alone
}

// maxNotes limits the notes about namespaces in which the mode has no effect. The table marks all of them.
const maxNotes = 3

// none is shown instead of what is unknown.
const none = "<none>"

// modeStatus is the mode of a namespace.
type modeStatus struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	installation.Answer
	// Annotation is the quoted value of the annotation if it is not a known mode.
	Annotation string `json:"annotation,omitempty"`
	// By and Since are the manager and the time of the annotation's managedFields entry.
	By    string `json:"by,omitempty"`
	Since string `json:"since,omitempty"`
	// Label is the value of the label of the same key. StaleLabel reports whether the API server selects namespaces by that label,
	// and it does not follow the annotation.
	Label      *string `json:"label,omitempty"`
	StaleLabel bool    `json:"staleLabel,omitempty"`
}

func (s *shared) newStatus() *cobra.Command {
	st := &statusOptions{shared: s}
	c := &cobra.Command{
		Use:   "status [NAMESPACE...]",
		Short: "Show where handoff is enabled",
		Long: `Shows the mode of handoff in namespaces. By default, all namespaces are shown, or the current one to users who cannot
list them. The mode is that of the namespace's annotation; a value that handoff does not know counts as warn. -o wide also shows
who set the annotation, and when.

A mode that has no effect is marked with the reason: the webhook is not installed or does not answer a dry run, its configuration
excludes the namespace, or the label ownership-handoff.io/mode, by which the API server selects namespaces, does not follow the
annotation. Users who cannot read the configuration learn it from the dry run. Notes say which objects that can be scaled have the annotation: it has no effect on
objects. The label of that name on an object overrides the mode of its namespace. It is the mode of an object outside namespaces: those
that have it are listed after the namespaces, except with -o json and yaml.

With a NAMESPACE, the exit code is 0 if handoff acts in all given namespaces, including in mode warn, and otherwise 1.`,
		Example: `  # Show all namespaces
  kubectl handoff status

  # Use it in a script
  kubectl handoff status shop > /dev/null || kubectl handoff enable shop`,
		ValidArgsFunction: s.completeNamespaces,
		RunE:              func(c *cobra.Command, args []string) error { return st.run(c.Context(), args) },
	}
	st.inputs.addSelector(c, "namespaces")
	st.output.add(c)
	return c
}

func (st *statusOptions) run(ctx context.Context, names []string) error {
	if len(names) > 0 && st.inputs.selector != "" {
		return usagef("accepts namespaces or --selector, not both")
	}
	in, err := st.shared.installation(ctx, false)
	if err != nil {
		return err
	}
	found, err := st.find(ctx, in, names)
	if err != nil {
		return source.Advise(err, "")
	}
	alone, narrowed := len(names) == 1, len(names) > 0 || st.inputs.selector != ""
	var statuses []modeStatus
	var notes, gaps []string
	negative := false
	for i := range found {
		answer := in.Effect(ctx, installation.Object{Namespace: found[i].Name})
		statuses = append(statuses, statusOf(&found[i], answer, in))
		negative = negative || len(names) > 0 && !answer.On()
		switch {
		case answer.Reason == installation.NotKnown:
			gaps = append(gaps, answer.Why)
		case answer.Why != "" && len(notes) < maxNotes && !slices.Contains(notes, answer.Why):
			notes = append(notes, answer.Why)
		}
	}
	if slices.ContainsFunc(statuses, func(s modeStatus) bool { return s.StaleLabel }) {
		notes = append(notes, "the API server selects namespaces by label, and some labels do not follow the mode; "+
			"kubectl handoff doctor shows how to repair them")
	}
	if len(found) == 1 {
		names = []string{found[0].Name}
	}
	annotated, err := st.annotated(ctx, names)
	if err != nil {
		return err
	}
	if err := st.write(statuses, append(notes, annotated...), alone); err != nil {
		return err
	}
	if !narrowed && !st.output.isData() {
		if err := st.writeOutside(ctx, in); err != nil {
			return err
		}
	}
	err = st.shared.finish(gaps)
	if err == nil && negative {
		return exitError(ExitNegative)
	}
	return err
}

// find returns the namespaces with these names, or all. Users who cannot list namespaces get that of the context, with a note.
func (st *statusOptions) find(ctx context.Context, in *installation.Installation, names []string) (found []corev1.Namespace, err error) {
	if len(names) == 0 {
		found, err = in.Namespaces(ctx, st.inputs.selector.String())
		current, _, contextErr := st.shared.cluster.ToRawKubeConfigLoader().Namespace()
		if !apierrors.IsForbidden(err) || contextErr != nil || st.inputs.selector != "" {
			return found, err
		}
		if _, getErr := in.Namespace(ctx, current); getErr != nil {
			return nil, err
		}
		names = []string{current}
		if err := st.shared.report("note: ", "only the current namespace is shown, because you cannot list namespaces"); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		o, err := in.Namespace(ctx, name)
		if err != nil {
			return nil, err
		}
		found = append(found, *o)
	}
	return found, nil
}

func statusOf(o *corev1.Namespace, answer installation.Answer, in *installation.Installation) modeStatus {
	s := modeStatus{APIVersion: apiVersion, Kind: "NamespaceStatus", Namespace: o.Name, Answer: answer}
	if label, labeled := o.Labels[ownership.ModeLabel]; labeled {
		s.Label = &label
	}
	s.StaleLabel = in.IsStale(o, answer)
	s.quote()
	if entries := installation.Managers(o, "metadata", "annotations", ownership.ModeAnnotation); len(entries) > 0 {
		s.By, s.Since = entries[0].Manager, entries[0].Time
	}
	return s
}

// quote sets the annotation of a mode that is not known.
func (s *modeStatus) quote() {
	if s.Text != nil {
		s.Annotation = fmt.Sprintf("%q", *s.Text)
	}
}

// writeOutside writes the objects outside namespaces that have the mode label, if there are any.
func (st *statusOptions) writeOutside(ctx context.Context, in *installation.Installation) error {
	labeled, unread := in.Labeled(ctx)
	for _, err := range unread {
		if err := st.shared.report("note: ", "some objects outside namespaces are not shown: "+err.Error()); err != nil {
			return err
		}
	}
	rows := make([]table.Row, 0, len(labeled))
	for _, o := range labeled {
		s := modeStatus{Answer: in.Effect(ctx, o.Is)}
		s.quote()
		rows = append(rows, table.Row{Cells: []string{o.Name, s.text()}})
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(st.shared.env.IOStreams.Out)
	return errors.Join(err, table.Style{}.Write(st.shared.env.IOStreams.Out, []string{"OBJECT", "MODE"}, rows))
}

// annotated returns a note about objects with the annotation, if there are any. It does not say which kinds the user cannot list: the
// note is optional, and only for people.
func (st *statusOptions) annotated(ctx context.Context, names []string) (notes []string, err error) {
	if st.output.isData() {
		return nil, nil
	}
	found, _, err := source.FindAnnotated(ctx, st.shared.cluster, names...)
	if err != nil {
		return nil, source.Advise(err, "")
	}
	if note := source.AnnotatedNote(found); note != "" {
		notes = append(notes, note)
	}
	return notes, nil
}

// write writes the statuses and, for people, the notes.
func (st *statusOptions) write(statuses []modeStatus, notes []string, alone bool) error {
	if st.output.isData() {
		return printData(st.shared, &st.output, "NamespaceStatus", statuses, alone)
	}
	columns := 2
	if st.output.isWide() {
		columns = 4
	}
	rows := make([]table.Row, len(statuses))
	for i, s := range statuses {
		rows[i].Cells = []string{s.Namespace, s.text(), cmp.Or(s.By, none), cmp.Or(s.Since, none)}[:columns]
	}
	err := table.Style{}.Write(st.shared.env.IOStreams.Out, []string{"NAMESPACE", "MODE", "SET BY", "SINCE"}[:columns], rows)
	return errors.Join(err, st.shared.report("note: ", notes...))
}

// text returns the mode, with what keeps it from being in effect in parentheses.
func (s *modeStatus) text() string {
	var problems []string
	if s.Annotation != "" {
		problems = append(problems, s.Annotation+" is unknown")
	}
	switch {
	case s.StaleLabel && s.Label == nil:
		problems = append(problems, string(installation.LabelMissing))
	case s.StaleLabel:
		problems = append(problems, fmt.Sprintf("label %q", *s.Label))
	}
	if s.Reason != "" && (!s.StaleLabel || s.Reason == installation.NoAnswer) {
		problems = append(problems, string(s.Reason))
	}
	return strings.TrimSuffix(string(s.Set)+" ("+strings.Join(problems, ", ")+")", " ()")
}
