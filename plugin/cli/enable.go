package cli

import (
	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/ownership"
)

func (s *shared) newEnable() *cobra.Command {
	m := &modeChange{shared: s, operation: "enabled"}
	warn := false
	c := &cobra.Command{
		Use:   "enable NAMESPACE...",
		Short: "Let handoff keep what autoscalers and controllers own in namespaces",
		Long: `Sets the annotation ownership-handoff.io/mode of namespaces to enforce, or with --warn to warn: handoff then says what
it would do, and changes nothing. Nothing else of the namespace is touched.

The annotation has an effect where the webhook is installed. One on an object overrides its namespace's.`,
		Example: `  # say what would be kept
  kubectl handoff enable shop --warn

  # keep it
  kubectl handoff enable shop`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: s.completeNamespaces,
		RunE: func(c *cobra.Command, args []string) error {
			m.mode = string(ownership.ModeEnforce)
			if warn {
				m.mode = string(ownership.ModeWarn)
			}
			return m.run(c.Context(), args)
		},
	}
	c.Flags().BoolVar(&warn, "warn", false, "Set the mode warn instead of enforce.")
	m.add(c)
	return c
}
