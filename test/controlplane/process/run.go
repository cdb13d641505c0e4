package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Result is the output of a program.
type Result struct {
	Stdout, Stderr string
	Err            error // with the command and its standard error
}

// Run runs a program with a text as its standard input, and with variables of its environment (NAME=VALUE) besides those of this process.
func Run(ctx context.Context, environment []string, stdin, program string, args ...string) Result {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s %.300s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return Result{stdout.String(), stderr.String(), err}
}

// Warnings returns handoff's warnings in the output of kubectl, without what is before the text.
func (r Result) Warnings() (found []string) {
	for line := range strings.Lines(r.Stderr) {
		if text, ok := strings.CutPrefix(line, "Warning: handoff: "); ok {
			found = append(found, strings.TrimSpace(text))
		}
	}
	return found
}
