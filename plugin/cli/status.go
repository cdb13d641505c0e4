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
		RunE:              func(c *cobra.Command, args []string) error { return s.status(c.Context(), args) },
	}
	s.selectorFlag(c, "namespaces")
	s.dataFlag(c, "Output format.", wide)
	return c
}

func (s *shared) status(ctx context.Context, names []string) error {
	if len(names) > 0 && s.selector != "" {
		return usagef("accepts namespaces or --selector, not both")
	}
	in, err := s.installation(ctx, false)
	if err != nil {
		return err
	}
	found, err := s.findNamespaces(ctx, in, names)
	if err != nil {
		return source.Advise(err, "")
	}
	alone, narrowed := len(names) == 1, len(names) > 0 || s.selector != ""
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
	if slices.ContainsFunc(statuses, func(of modeStatus) bool { return of.StaleLabel }) {
		notes = append(notes, "the API server selects namespaces by label, and some labels do not follow the mode; "+
			"kubectl handoff doctor shows how to repair them")
	}
	if len(found) == 1 {
		names = []string{found[0].Name}
	}
	err = show(s, "NamespaceStatus", statuses, alone, func() error {
		// The note about objects is optional. It does not say which kinds the user cannot list.
		annotated, _, err := source.FindAnnotated(ctx, s.cluster, names...)
		if err != nil {
			return source.Advise(err, "")
		}
		if note := source.AnnotatedNote(annotated); note != "" {
			notes = append(notes, note)
		}
		if err := s.writeStatuses(statuses); err != nil {
			return err
		}
		s.report("note: ", notes...)
		if narrowed {
			return nil
		}
		return s.writeOutside(ctx, in)
	})
	if err != nil {
		return err
	}
	err = s.finish(gaps)
	if err == nil && negative {
		return exitError(ExitNegative)
	}
	return err
}

// find returns the namespaces with these names, or all. Users who cannot list namespaces get that of the context, with a note.
func (s *shared) findNamespaces(ctx context.Context, in *installation.Installation, names []string) (found []corev1.Namespace, err error) {
	if len(names) == 0 {
		found, err = in.Namespaces(ctx, s.selector.String())
		current, contextErr := s.namespace()
		if !apierrors.IsForbidden(err) || contextErr != nil || s.selector != "" {
			return found, err
		}
		if _, getErr := in.Namespace(ctx, current); getErr != nil {
			return nil, err
		}
		names = []string{current}
		s.report("note: ", "only the current namespace is shown, because you cannot list namespaces")
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
	if answer.Text != nil {
		s.Annotation = fmt.Sprintf("%q", *answer.Text)
	}
	if entries := installation.Managers(o, "metadata", "annotations", ownership.ModeAnnotation); len(entries) > 0 {
		s.By, s.Since = entries[0].Manager, entries[0].Time
	}
	return s
}

// writeOutside writes the objects outside namespaces that have the mode label, if there are any.
func (s *shared) writeOutside(ctx context.Context, in *installation.Installation) error {
	labeled, unread := in.Labeled(ctx)
	for _, err := range unread {
		s.report("note: ", "some objects outside namespaces are not shown: "+err.Error())
	}
	rows := make([]table.Row, 0, len(labeled))
	for _, o := range labeled {
		of := modeStatus{Answer: in.Effect(ctx, o.Is)}
		rows = append(rows, table.Row{Cells: []string{o.Name, of.text()}})
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(s.env.IOStreams.Out)
	return errors.Join(err, table.Style{}.Write(s.env.IOStreams.Out, []string{"OBJECT", "MODE"}, rows))
}

func (s *shared) writeStatuses(statuses []modeStatus) error {
	columns := 2
	if s.output.isWide() {
		columns = 4
	}
	rows := make([]table.Row, len(statuses))
	for i, of := range statuses {
		rows[i].Cells = []string{of.Namespace, of.text(), cmp.Or(of.By, none), cmp.Or(of.Since, none)}[:columns]
	}
	return s.style().Write(s.env.IOStreams.Out, []string{"NAMESPACE", "MODE", "SET BY", "SINCE"}[:columns], rows)
}

// text returns the mode, with what keeps it from being in effect in parentheses.
func (s *modeStatus) text() string {
	var problems []string
	if s.Text != nil {
		problems = append(problems, fmt.Sprintf("%q is unknown", *s.Text))
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
