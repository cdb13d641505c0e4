// Package cli implements the commands of kubectl handoff, one file for each. Package source reads the objects; explain,
// preview, audit and release evaluate them. Package doctor checks the installation of the webhook.
package cli

import (
	"context"
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
	if command, err := root.ExecuteContextC(ctx); err != nil {
		s.gaps, s.failures = nil, append(s.failures, advise(command, err))
	}
	for _, err := range s.failures {
		s.report("error: ", strings.Join(strings.Fields(err.Error()), " "))
	}
	s.report("partial: ", s.gaps...)
	switch {
	case len(s.failures) > 0:
		return ExitError
	case s.negative: // even if it is incomplete
		return ExitNegative
	case len(s.gaps) > 0:
		return ExitPartial
	default:
		return ExitOK
	}
}

// advise adds a remedy to an error of a command, unless it has one.
func advise(c *cobra.Command, err error) error {
	err = source.Advise(err, "")
	switch unreachable := source.IsUnreachable(err); {
	case unreachable && c.Flags().Lookup("live") != nil:
		return fmt.Errorf("%w, or read the live objects from files with --live", err)
	case unreachable && c.Flags().Lookup("all-namespaces") != nil: // -f then replaces the cluster
		return fmt.Errorf("%w, or read files with -f", err)
	default:
		return err
	}
}

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

// report writes lines to standard error, each after a prefix and once.
func (s *shared) report(prefix string, lines ...string) {
	for i, line := range lines {
		if !slices.Contains(lines[:i], line) {
			_ = table.Lines(s.env.IOStreams.ErrOut, prefix+line) // there is no other place for an error
		}
	}
}
