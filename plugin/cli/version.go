package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (s *shared) newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this plugin",
		Long:    "Prints the version of this plugin, without contacting a cluster.",
		Example: "  # Print the version\n  kubectl handoff version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.env.IOStreams.Out, "kubectl-handoff", s.env.Version)
			return err
		},
	}
}
