package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

type statusOptions struct {
	shared   *shared
	output   outputFlags
	selector string
}

// maxNotes limits the notes about namespaces in which the mode has no effect. The table marks all of them.
const maxNotes = 3

// modeStatus is the mode of a namespace.
type modeStatus struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	// Mode is enforce, warn or off; Annotation is the quoted value of the annotation if it is not a known mode.
	Mode       string `json:"mode"`
	Annotation string `json:"annotation,omitempty"`
	// By and Since are the manager and the time of the annotation's managedFields entry.
	By    string `json:"by,omitempty"`
	Since string `json:"since,omitempty"`
	// Label is the value of the label of the same key. StaleLabel reports whether the API server selects namespaces by that label,
	// and it does not follow the annotation.
	Label      *string `json:"label,omitempty"`
	StaleLabel bool    `json:"staleLabel,omitempty"`
	// Active is the mode in which handoff reviews the writes in the namespace: off if the API server does not call it. Reason and Why
	// say why it differs from Mode.
	Active string `json:"active"`
	Reason string `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"`
}

func (s *shared) newStatus() *cobra.Command {
	st := &statusOptions{shared: s}
	c := &cobra.Command{
		Use:   "status [NAMESPACE...]",
		Short: "Show where handoff is enabled",
		Long: `Shows the mode of handoff in namespaces. By default, all namespaces are shown. The mode is that of the namespace's
annotation; a value that handoff does not know counts as warn. -o wide also shows who set the annotation, and when.

A mode that has no effect is marked with the reason: the webhook is not installed, its configuration excludes the namespace, or
the label ownership-handoff.io/mode, by which the API server selects namespaces, does not follow the annotation. Users who cannot
read the configuration learn it from a dry run. Notes say which objects that can be scaled have the annotation: it has no effect on
objects. The label of that name on an object overrides the mode of its namespace.

With a NAMESPACE, the exit code is 0 if handoff acts in all given namespaces, including in mode warn, and otherwise 1.`,
		Example: `  # Show all namespaces
  kubectl handoff status

  # Use it in a script
  kubectl handoff status shop > /dev/null || kubectl handoff enable shop`,
		ValidArgsFunction: s.completeNamespaces,
		RunE:              func(c *cobra.Command, args []string) error { return st.run(c.Context(), args) },
	}
	c.Flags().StringVarP(&st.selector, "selector", "l", "", "Selector (label query) to filter namespaces on.")
	must(st.output.add(c))
	return c
}

func (st *statusOptions) run(ctx context.Context, names []string) error {
	if len(names) > 0 && st.selector != "" {
		return errors.New("accepts namespaces or --selector, not both")
	}
	if err := st.output.check(); err != nil {
		return err
	}
	in, err := st.shared.installation(ctx, false)
	if err != nil {
		return err
	}
	found, gaps, err := st.find(ctx, in, names)
	if err != nil {
		return source.Advise(err, "")
	}
	statuses := make([]modeStatus, len(found))
	code := ExitOK
	var notes []string
	for i, o := range found {
		answer := in.Mode(ctx, installation.Object{Namespace: o.Name})
		if statuses[i], err = statusOf(o, answer, in); err != nil {
			return err
		}
		switch {
		case answer.Reason == installation.NotKnown:
			gaps = append(gaps, answer.Why)
		case answer.Why != "" && len(notes) < maxNotes && !slices.Contains(notes, answer.Why):
			notes = append(notes, answer.Why)
		}
		if len(names) > 0 && !answer.On() {
			code = ExitNegative
		}
	}
	if slices.ContainsFunc(statuses, func(s modeStatus) bool { return s.StaleLabel }) {
		notes = append(notes, "the API server selects namespaces by label, and some labels do not follow the mode; "+
			"kubectl handoff doctor shows how to repair them")
	}
	if notes, err = st.annotated(ctx, names, notes); err != nil {
		return source.Advise(err, "")
	}
	if err := st.write(statuses, len(names) == 1); err != nil {
		return err
	}
	if !st.output.isData() {
		for _, note := range notes {
			if err := st.shared.note(note); err != nil {
				return err
			}
		}
	}
	err = finish(st.shared.env.IOStreams.ErrOut, gaps)
	if err == nil && code != ExitOK {
		return exitError(code)
	}
	return err
}

// annotated adds a note about objects with the annotation. It does not say which kinds the user cannot list: the note is optional.
func (st *statusOptions) annotated(ctx context.Context, names, notes []string) ([]string, error) {
	if st.output.isData() {
		return notes, nil
	}
	if len(names) == 0 {
		names = []string{metav1.NamespaceAll}
	}
	var all []source.Annotated
	for _, name := range names {
		found, _, err := source.FindAnnotated(ctx, st.shared.cluster, name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if note := source.AnnotatedNote(all); note != "" {
		notes = append(notes, note)
	}
	return notes, nil
}

// find returns the namespaces with these names, or all. Users who cannot list namespaces get that of the context.
func (st *statusOptions) find(
	ctx context.Context, in *installation.Installation, names []string,
) (found []*corev1.Namespace, gaps []string, err error) {
	if len(names) == 0 {
		all, err := in.Namespaces(ctx, st.selector)
		if err == nil {
			for i := range all {
				found = append(found, &all[i])
			}
			return found, nil, nil
		}
		current, _, contextErr := st.shared.cluster.ToRawKubeConfigLoader().Namespace()
		if !apierrors.IsForbidden(err) || contextErr != nil || st.selector != "" {
			return nil, nil, err
		}
		if _, getErr := in.Namespace(ctx, current); getErr != nil {
			return nil, nil, err
		}
		names = []string{current}
		gaps = []string{"only the current namespace is shown; name others, or ask for permission to list namespaces"}
	}
	for _, name := range names {
		o, err := in.Namespace(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, o)
	}
	return found, gaps, nil
}

func statusOf(o *corev1.Namespace, answer installation.Answer, in *installation.Installation) (modeStatus, error) {
	s := modeStatus{
		APIVersion: apiVersion, Kind: "NamespaceStatus", Namespace: o.Name, Mode: string(answer.Set),
		Active: string(answer.Mode), Reason: string(answer.Reason), Why: answer.Why,
	}
	text, annotated := o.Annotations[ownership.ModeAnnotation]
	label, labeled := o.Labels[ownership.ModeLabel]
	if labeled {
		s.Label = &label
	}
	wanted, mustBeLabeled := ownership.NamespaceLabel(text, annotated)
	follows := labeled == mustBeLabeled && label == wanted
	s.StaleLabel = !follows && answer.Reason != installation.Excluded && (in.FollowsLabel() || in.Unread != nil && !answer.On())
	if answer.Text != nil {
		s.Annotation = fmt.Sprintf("%q", *answer.Text)
	}
	if !annotated {
		return s, nil
	}
	object, err := json.Marshal(o)
	if err != nil {
		return s, err
	}
	read, err := ownership.ParseObject(object)
	if err != nil {
		return s, err
	}
	entries, err := read.Entries()
	if err != nil {
		return s, fmt.Errorf("namespace %s: %w", o.Name, err)
	}
	managers := ownership.EntriesFor(entries, fieldpath.MakePathOrDie("metadata", "annotations", ownership.ModeAnnotation))
	if len(managers) > 0 {
		s.By, s.Since = managers[0].Manager, managers[0].Time
	}
	return s, nil
}

func (st *statusOptions) write(statuses []modeStatus, alone bool) error {
	if st.output.isData() {
		items := make([]any, len(statuses))
		for i, s := range statuses {
			items[i] = s
		}
		return st.output.print(st.shared, "NamespaceStatus", items, alone)
	}
	columns := 2
	if st.output.isWide() {
		columns = 4
	}
	rows := make([]table.Row, len(statuses))
	for i, s := range statuses {
		rows[i].Cells = []string{s.Namespace, s.text(), orNone(s.By), orNone(s.Since)}[:columns]
	}
	return table.Style{}.Write(st.shared.env.IOStreams.Out, []string{"NAMESPACE", "MODE", "SET BY", "SINCE"}[:columns], rows)
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
	case s.Reason != "":
		problems = append(problems, s.Reason)
	}
	if len(problems) == 0 {
		return s.Mode
	}
	return s.Mode + " (" + strings.Join(problems, ", ") + ")"
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}
