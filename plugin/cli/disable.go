package cli

import "github.com/spf13/cobra"

func (s *shared) newDisable() *cobra.Command {
	m := &modeChange{shared: s, operation: "disabled"}
	c := &cobra.Command{
		Use:   "disable NAMESPACE...",
		Short: "Let handoff do nothing in namespaces",
		Long: `Removes the annotation ownership-handoff.io/mode from namespaces. Nothing else of the namespace is touched, and nothing
of what has been kept in it. An object that has the annotation itself goes on as that says.`,
		Example: `  kubectl handoff disable shop`,
		Args:    cobra.MinimumNArgs(1), ValidArgsFunction: s.completeNamespaces,
		RunE: func(c *cobra.Command, args []string) error { return m.run(c.Context(), args) },
	}
	m.add(c)
	return c
}
