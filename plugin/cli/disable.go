package cli

import "github.com/spf13/cobra"

func (s *shared) newDisable() *cobra.Command {
	m := &modeChange{shared: s, operation: "disabled"}
	c := &cobra.Command{
		Use:   "disable NAMESPACE...",
		Short: "Disable handoff in a namespace",
		Long: `Removes the annotation ownership-handoff.io/mode from namespaces. Nothing else in the namespaces changes; fields that
handoff has kept keep their values. Objects with the label of that name stay in the mode that it sets.`,
		Example: `  # Disable handoff in a namespace
  kubectl handoff disable shop`,
		Args: atLeast(1, "requires a NAMESPACE"), ValidArgsFunction: s.completeNamespaces,
		RunE: func(c *cobra.Command, args []string) error { return m.run(c.Context(), args) },
	}
	m.add(c)
	return c
}
