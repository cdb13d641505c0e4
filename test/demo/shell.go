package main

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// shell runs the command lines exactly as the transcript shows them.
type shell struct {
	dir string // contains web.yaml
	bin string // contains the control plane's kubectl
}

// run runs a command and returns its standard output and standard error, in order.
func (s shell) run(ctx context.Context, line string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "PATH="+s.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	// The processes of a pipeline may outlive the killed shell and keep its output open.
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	return string(output), err
}
