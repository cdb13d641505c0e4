// Package cli is the commands of kubectl handoff, one file for each. They read by package source, answer by packages like
// explanation, and add no knowledge of their own.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ownership-handoff/handoff/internal/printable"
)

// The exit codes, the same for all commands. kubectl diff has the first three as well.
const (
	ExitYes     = 0 // answered or done; to a question, the answer is yes
	ExitNo      = 1 // the answer is no
	ExitError   = 2 // not answered, or not done
	ExitPartial = 3 // answered as far as can be known; the lines that begin with "partial:" say what is not
)

// Environment is what a process gives a command.
type Environment struct {
	genericiooptions.IOStreams
	Version string
	// Now is the time that ages are counted to.
	Now func() time.Time
	// Colour says that Out shows colours, Terminal that ErrOut is a terminal.
	Colour, Terminal bool
}

// answer is how a command ends that is no error: an exit code other than ExitYes.
type answer int

// Error implements error.
func (a answer) Error() string { return fmt.Sprintf("exit code %d", int(a)) }

// Run runs a command line and returns the exit code. What went wrong is one line on ErrOut.
func Run(ctx context.Context, env Environment, args []string) int {
	out, errOut := env.writers()
	defer func() { _, _ = out.Flush(), errOut.Flush() }()
	env.Out, env.ErrOut = out, errOut
	root := newRoot(env) //nolint:contextcheck // the commands are given ctx when they run
	root.SetArgs(args)
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.ErrOut)
	command, err := root.ExecuteContextC(ctx)
	var given answer
	switch {
	case err == nil:
		return ExitYes
	case errors.As(err, &given):
		return int(given)
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if isUsage(text) {
		text += "; see " + command.CommandPath() + " --help"
	}
	_, _ = fmt.Fprintln(env.ErrOut, "error:", printable.Text(text))
	return ExitError
}

// writers are Out and ErrOut, to which nothing gets that could act on a terminal but the commands' own colors and progress.
func (env Environment) writers() (out, errOut *printable.Writer) {
	var colors, progress []string
	if env.Colour {
		colors = append(colors, printable.Color)
	}
	if env.Terminal {
		progress = append(progress, printable.Progress)
	}
	return printable.NewWriter(env.Out, colors...), printable.NewWriter(env.ErrOut, progress...)
}

// isUsage says whether an error is one of the command line itself, which cobra tells by its text alone.
func isUsage(text string) bool {
	for _, beginning := range []string{"unknown ", "flag needs", "invalid argument", "requires ", "accepts "} {
		if strings.HasPrefix(text, beginning) {
			return true
		}
	}
	return false
}

// finish reports what a command could not find out, and makes that its exit code.
func finish(errOut io.Writer, gaps []string) error {
	for _, gap := range gaps {
		if _, err := fmt.Fprintln(errOut, "partial:", printable.Text(gap)); err != nil {
			return err
		}
	}
	if len(gaps) > 0 {
		return answer(ExitPartial)
	}
	return nil
}
