// Package cli implements the commands of kubectl handoff, one file for each. Package source reads the objects; explain,
// preview, audit and release evaluate them. Package doctor checks the installation of the webhook.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
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

	// raw is Out without the quoting of control sequences, for manifests, which have to stay as they are.
	raw io.Writer
}

// Run runs a command line and returns the exit code. It writes an error to ErrOut as one line.
func Run(ctx context.Context, env Environment, args []string) int {
	out, errOut := printable.NewWriter(env.IOStreams.Out), printable.NewWriter(env.IOStreams.ErrOut)
	defer func() { _, _ = out.Flush(), errOut.Flush() }()
	env.raw, env.IOStreams.Out, env.IOStreams.ErrOut = env.IOStreams.Out, out, errOut
	s := &shared{env: env, cluster: genericclioptions.NewConfigFlags(true)}
	root := s.newRoot() //nolint:contextcheck // the commands receive ctx when they run
	root.SetArgs(args)
	root.SetIn(env.IOStreams.In)
	root.SetOut(out)
	root.SetErr(errOut)
	command, err := root.ExecuteContextC(ctx)
	var code exitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &code):
		return int(code)
	}
	switch err = source.Advise(err, ""); {
	case !source.IsUnreachable(err):
	case command.Flags().Lookup("live") != nil:
		err = fmt.Errorf("%w, or read the live objects from files with --live", err)
	case command.Flags().Lookup("all-namespaces") != nil: // -f then replaces the cluster
		err = fmt.Errorf("%w, or read files with -f", err)
	}
	_ = s.fail(err)
	return ExitError
}

// exitError ends a command with an exit code other than ExitOK, without an error message.
type exitError int

// Error implements error.
func (c exitError) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// usage returns an error about the command line itself.
func usage(c *cobra.Command, format string, args ...any) error {
	return fmt.Errorf(format+"; see %s --help", append(args, c.CommandPath())...)
}

// between returns a usage error with a text unless the number of arguments is in bounds.
func between(least, most int, text string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usage(c, "%s", text)
		}
		return nil
	}
}

// fail writes errors, one line each, and ends the command.
func (s *shared) fail(errs ...error) error {
	for _, err := range errs {
		s.report("error: ", strings.Join(strings.Fields(err.Error()), " "))
	}
	return exitError(ExitError)
}

// finish writes what a command could not determine, and returns the matching exit code. A negative result is one even if it is
// incomplete.
func (s *shared) finish(gaps []string, negative bool) error {
	s.report("partial: ", gaps...)
	switch {
	case negative:
		return exitError(ExitNegative)
	case len(gaps) > 0:
		return exitError(ExitPartial)
	default:
		return nil
	}
}

// report writes lines to standard error, each after a prefix and once.
func (s *shared) report(prefix string, lines ...string) {
	for i, line := range lines {
		if !slices.Contains(lines[:i], line) {
			_ = table.Lines(s.env.IOStreams.ErrOut, prefix+line) // there is no other place for an error
		}
	}
}
