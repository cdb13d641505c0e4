package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

func (s *shared) newStatus() *cobra.Command {
	c := &cobra.Command{
		Use:   "status [NAMESPACE...]",
		Short: "Show where handoff is enabled",
		Long: `Shows the mode of handoff in namespaces: that of their annotation ownership-handoff.io/mode. By default, all namespaces are shown,
or the current one to users who cannot list them. The label of that name on an object overrides the mode.

A mode that has no effect is marked with the reason: the webhook is not installed or does not answer a dry run, its configuration
excludes the namespace, or the namespace's label ownership-handoff.io/mode, by which the API server selects namespaces, does not
follow the annotation.

With a NAMESPACE, the exit code is 0 if handoff acts in all given namespaces, including in mode warn, and otherwise 1.`,
		Example: `  # Show all namespaces
  kubectl handoff status

  # Use it in a script
  kubectl handoff status shop > /dev/null || kubectl handoff enable shop`,
		RunE: func(c *cobra.Command, args []string) error { return s.status(c, args) },
	}
	s.selectorFlag(c, "namespaces")
	s.dataFlag(c)
	return c
}

func (s *shared) status(c *cobra.Command, names []string) error {
	if len(names) > 0 && s.selector != "" {
		return usage(c, "accepts namespaces or --selector, not both")
	}
	statuses, err := s.statuses(c.Context(), names)
	if err != nil {
		return err
	}
	notes := s.judge(statuses)
	s.negative = s.negative && len(names) > 0
	return show(s, "NamespaceStatus", statuses, len(names) == 1, func() error {
		rows := make([][]string, len(statuses))
		for i := range statuses {
			rows[i] = []string{statuses[i].Namespace, statuses[i].text()}
		}
		err := table.Write(s.env.IOStreams.Out, []string{"NAMESPACE", "MODE"}, rows)
		s.report("note: ", notes[:min(len(notes), 3)]...) // the table marks all
		return err
	})
}

// findNamespaces returns the namespaces with these names, or all. Users who cannot list namespaces get that of the context, with a note.
func (s *shared) findNamespaces(ctx context.Context, in *installation.Installation, names []string) (found []corev1.Namespace, err error) {
	if len(names) == 0 {
		found, err = in.Namespaces(ctx, s.selector)
		if !apierrors.IsForbidden(err) || s.selector != "" {
			return found, err
		}
		names = []string{s.namespace()}
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

// modeStatus is the mode of a namespace.
type modeStatus struct {
	Namespace string `json:"namespace"`
	installation.Answer
	// StaleLabel reports whether the API server selects namespaces by their label, and it does not follow the annotation.
	StaleLabel bool `json:"staleLabel,omitempty"`
}

// statuses reads the modes of namespaces with these names, or of all.
func (s *shared) statuses(ctx context.Context, names []string) ([]modeStatus, error) {
	in, err := s.installation(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.findNamespaces(ctx, in, names)
	statuses := make([]modeStatus, len(found))
	for i, o := range found {
		answer := in.Effect(ctx, installation.Object{Namespace: o.Name})
		statuses[i] = modeStatus{Namespace: o.Name, Answer: answer, StaleLabel: in.IsStale(&o, answer)}
	}
	return statuses, err
}

// judge returns notes about modes without effect. Unknown modes are gaps. The result is negative unless handoff acts in all namespaces.
func (s *shared) judge(statuses []modeStatus) (notes []string) {
	if slices.ContainsFunc(statuses, func(of modeStatus) bool { return of.StaleLabel }) {
		notes = append(notes, "the API server selects namespaces by label, and some labels do not follow the mode; "+
			"kubectl handoff doctor shows how to repair them")
	}
	for _, of := range statuses {
		switch {
		case of.Reason == installation.NotKnown:
			s.gaps = append(s.gaps, of.Why)
			continue
		case of.Reason != "":
			of.Why = "the mode has no effect: " + of.Why
		}
		s.negative = s.negative || !of.On()
		if of.Why != "" && !slices.Contains(notes, of.Why) {
			notes = append(notes, of.Why)
		}
	}
	return notes
}

// text returns the mode, with what keeps it from being in effect in parentheses.
func (s *modeStatus) text() string {
	var problems []string
	if s.Text != nil {
		problems = append(problems, fmt.Sprintf("%q is unknown", *s.Text))
	}
	if s.StaleLabel && s.Reason != installation.LabelMissing {
		problems = append(problems, "stale label")
	}
	if s.Reason != "" && (!s.StaleLabel || s.Reason != installation.NotKnown) {
		problems = append(problems, string(s.Reason))
	}
	return strings.TrimSuffix(string(s.Set)+" ("+strings.Join(problems, ", ")+")", " ()")
}
