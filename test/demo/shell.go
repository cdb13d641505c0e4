package main

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// shell runs command lines exactly as they are shown.
type shell struct {
	dir string // with web.yaml
	bin string // with the plane's kubectl
}

// run returns all that a command prints, in the order in which it prints it.
func (s shell) run(ctx context.Context, line string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "PATH="+s.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	// The parts of a pipeline may outlive the shell that is killed, and hold its output.
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	return string(output), err
}
