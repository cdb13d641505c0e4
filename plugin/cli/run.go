// Package cli implements the commands of kubectl handoff, one file for each. Package source reads the objects; explain,
// preview, audit and release evaluate them. Package doctor checks the installation of the webhook.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// The exit codes of all commands. The first three follow kubectl diff.
const (
	ExitOK       = 0 // success
	ExitNegative = 1 // negative result, such as a risk found by audit --fail-on-risk
	ExitError    = 2 // error
	ExitPartial  = 3 // incomplete result; lines that begin with "partial:" say what is unknown
)

// Environment is the environment that a command runs in.
type Environment struct {
	// IOStreams are standard input, output and error.
	IOStreams genericiooptions.IOStreams

	Version string
	// Now returns the time from which ages are computed.
	Now func() time.Time
	// Color reports whether Out displays colors, Terminal whether ErrOut is a terminal.
	Color, Terminal bool

	// raw is Out without the quoting of control sequences, for manifests, which have to stay as they are.
	raw io.Writer
}

// exitError ends a command with an exit code other than ExitOK, without an error message.
type exitError int

// Error implements error.
func (c exitError) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// Run runs a command line and returns the exit code. It writes an error to ErrOut as one line.
func Run(ctx context.Context, env Environment, args []string) int {
	out, errOut := env.writers()
	defer func() { _, _ = out.Flush(), errOut.Flush() }()
	env.raw, env.IOStreams.Out, env.IOStreams.ErrOut = env.IOStreams.Out, out, errOut
	root := newRoot(env) //nolint:contextcheck // the commands receive ctx when they run
	root.SetArgs(args)
	root.SetIn(env.IOStreams.In)
	root.SetOut(env.IOStreams.Out)
	root.SetErr(env.IOStreams.ErrOut)
	command, err := root.ExecuteContextC(ctx)
	var code exitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &code):
		return int(code)
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	switch {
	case !source.IsUnreachable(err):
	case command.Flags().Lookup("live") != nil:
		text += ", or read the live objects from files with --live"
	case command.Flags().Lookup("filename") != nil:
		text += ", or read files with -f"
	}
	if errors.As(err, new(usageError)) {
		text += "; see " + command.CommandPath() + " --help"
	}
	_ = table.Lines(env.IOStreams.ErrOut, "error: "+text)
	return ExitError
}

// writers returns Out and ErrOut with all control sequences quoted, except the commands' own colors and progress.
func (env Environment) writers() (out, errOut *printable.Writer) {
	var colors, progress []string
	if env.Color {
		colors = append(colors, printable.Color)
	}
	if env.Terminal {
		progress = append(progress, printable.Progress)
	}
	return printable.NewWriter(env.IOStreams.Out, colors...), printable.NewWriter(env.IOStreams.ErrOut, progress...)
}

// usageError is an error about the command line itself.
type usageError struct{ err error }

// Error implements error.
func (u usageError) Error() string { return u.err.Error() }

// Unwrap returns the error without its kind.
func (u usageError) Unwrap() error { return u.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// known returns a usage error about a command that does not exist: cobra accepts its name as an argument.
func known(root *cobra.Command, args []string) error {
	if err := cobra.NoArgs(root, args); err != nil {
		return usageError{err}
	}
	return nil
}

// between returns a usage error with a text unless the number of arguments is in bounds. For a command without subcommands, the error
// of cobra.NoArgs is about an unknown command.
func between(least, most int, text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usagef("%s", text)
		}
		return nil
	}
}

func (s *shared) style() table.Style { return table.Style{Color: s.env.Color, Now: s.env.Now()} }

// finish writes what a command could not determine, and returns the matching exit code.
func (s *shared) finish(gaps []string) error {
	if len(gaps) == 0 {
		return nil
	}
	s.report("partial: ", gaps...)
	return exitError(ExitPartial)
}

// report writes lines to standard error, each after a prefix.
func (s *shared) report(prefix string, lines ...string) {
	for _, line := range lines {
		_ = table.Lines(s.env.IOStreams.ErrOut, prefix+line) // there is no other place for an error
	}
}
