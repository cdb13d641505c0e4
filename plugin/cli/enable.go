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
		Short: "Enable handoff in a namespace",
		Long: `Sets the annotation ownership-handoff.io/mode of namespaces to enforce: handoff then keeps the fields that autoscalers
and controllers own. With --warn, sets it to warn: handoff then only reports what it would keep, and changes nothing.
Nothing else in the namespaces changes.

The annotation has an effect only if the webhook is installed. The label of that name on an object overrides it.`,
		Example: `  # Report what handoff would keep
  kubectl handoff enable shop --warn

  # Keep it
  kubectl handoff enable shop`,
		Args:              atLeast(1, "requires a NAMESPACE"),
		ValidArgsFunction: s.completeNamespaces,
		RunE: func(c *cobra.Command, args []string) error {
			m.mode = string(ownership.ModeEnforce)
			if warn {
				m.mode = string(ownership.ModeWarn)
			}
			return m.run(c.Context(), args)
		},
	}
	c.Flags().BoolVar(&warn, "warn", false, "Set mode warn instead of enforce.")
	m.add(c)
	return c
}
