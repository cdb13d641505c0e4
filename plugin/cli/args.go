package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// onlyFiles returns an error if there are arguments, for commands that read the files of -f. For arguments of a command without
// subcommands, the error of cobra.NoArgs is about an unknown command.
func onlyFiles(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return errors.New("accepts no arguments; name files with -f")
	}
	return nil
}

// atLeast returns an error with a text if there are fewer arguments.
func atLeast(number int, text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < number {
			return errors.New(text)
		}
		return nil
	}
}
