package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

type statusOptions struct {
	shared   *shared
	output   outputFlags
	selector string
}

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
}

func (s *shared) newStatus() *cobra.Command {
	st := &statusOptions{shared: s}
	c := &cobra.Command{
		Use:   "status [NAMESPACE...]",
		Short: "Show where handoff is enabled",
		Long: `Shows the mode of handoff in namespaces. By default, all namespaces are shown. The mode is that of the namespace's
annotation; a value that handoff does not know counts as warn. -o wide also shows who set the annotation, and when.

A namespace whose label ownership-handoff.io/mode does not follow the annotation is marked with the label: the API server selects
namespaces by label. Notes say if the handoff webhook is not installed, and which objects that can be scaled have the
annotation: it has no effect on objects. The label of that name on an object overrides the mode of its namespace.

With a NAMESPACE, the exit code is 0 if handoff is enabled in all given namespaces, including in mode warn, and otherwise 1.`,
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
	found, err := st.find(ctx, names)
	if err != nil {
		return source.Advise(err, "")
	}
	statuses := make([]modeStatus, len(found))
	for i := range found {
		if statuses[i], err = statusOf(&found[i]); err != nil {
			return err
		}
	}
	notes, err := st.compare(ctx, statuses)
	if err != nil {
		return err
	}
	if notes, err = st.annotated(ctx, names, notes); err != nil {
		return source.Advise(err, "")
	}
	if err := st.write(statuses, len(names) == 1); err != nil {
		return err
	}
	for _, note := range notes {
		if err := st.shared.note(note); err != nil {
			return err
		}
	}
	off := func(s modeStatus) bool { return !s.on() }
	if len(names) > 0 && slices.ContainsFunc(statuses, off) {
		return exitError(ExitNegative)
	}
	return nil
}

func (s *modeStatus) on() bool { return s.Mode != string(ownership.ModeOff) }

// compare keeps the mark of namespaces with a stale label only if the API server selects namespaces by label, and returns what to
// note.
func (st *statusOptions) compare(ctx context.Context, statuses []modeStatus) (notes []string, err error) {
	on := func(s modeStatus) bool { return s.on() }
	stale := func(s modeStatus) bool { return s.StaleLabel }
	if !slices.ContainsFunc(statuses, on) && !slices.ContainsFunc(statuses, stale) {
		return nil, nil
	}
	found, err := st.shared.installation(ctx)
	if err != nil {
		return nil, err
	}
	for i := range statuses {
		statuses[i].StaleLabel = statuses[i].StaleLabel && found.selectsByLabel
	}
	switch {
	case st.output.isData():
	case found.missing && slices.ContainsFunc(statuses, on):
		notes = append(notes, uninstalled)
	case slices.ContainsFunc(statuses, stale):
		notes = append(notes, "the API server selects namespaces by label, and some labels do not follow the mode; "+
			"kubectl handoff doctor shows how to repair them")
	}
	return notes, nil
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

func (st *statusOptions) find(ctx context.Context, names []string) ([]unstructured.Unstructured, error) {
	namespaces, err := st.shared.namespaces()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		list, err := namespaces.List(ctx, metav1.ListOptions{LabelSelector: st.selector})
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}
	var found []unstructured.Unstructured
	for _, name := range names {
		o, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		found = append(found, *o)
	}
	return found, nil
}

func statusOf(o *unstructured.Unstructured) (modeStatus, error) {
	s := modeStatus{APIVersion: apiVersion, Kind: "NamespaceStatus", Namespace: o.GetName()}
	text, annotated := o.GetAnnotations()[ownership.ModeAnnotation]
	mode, known := ownership.ModeOf(text, annotated)
	s.Mode = string(mode)
	label, labeled := o.GetLabels()[ownership.ModeLabel]
	if labeled {
		s.Label = &label
	}
	wanted, mustBeLabeled := ownership.NamespaceLabel(text, annotated)
	if s.StaleLabel = labeled != mustBeLabeled || label != wanted; !annotated {
		return s, nil
	}
	if !known {
		s.Annotation = fmt.Sprintf("%q", text)
	}
	object, err := o.MarshalJSON()
	if err != nil {
		return s, err
	}
	read, err := ownership.ParseObject(object)
	if err != nil {
		return s, err
	}
	entries, err := read.Entries()
	if err != nil {
		return s, fmt.Errorf("namespace %s: %w", o.GetName(), err)
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
		problems = append(problems, "label missing")
	case s.StaleLabel:
		problems = append(problems, fmt.Sprintf("label %q", *s.Label))
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
