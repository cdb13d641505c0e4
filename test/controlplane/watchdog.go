package controlplane

import (
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
)

//go:embed watchdog.sh
var watchdogScript string

// watchdog is a process that outlives this one. Then it terminates the remaining processes of a control plane and removes its
// directory.
//
// It waits for the end of its standard input, a pipe whose other end is open only in this process: os/exec sets close-on-exec,
// so that no other child inherits it. The end of this process, for any reason, therefore triggers the watchdog.
type watchdog struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// watch starts a watchdog for a control plane's directory.
func watch(dir string) (*watchdog, error) {
	// The last argument identifies the watchdog in a list of processes. It must not be the complete path: see the script.
	//nolint:noctx // it must outlive every context
	cmd := exec.Command("sh", "-c", watchdogScript, "handoff-watchdog", filepath.Base(dir))
	// Start a session, so that neither Ctrl-C nor the end of a terminal reaches the watchdog.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	if _, err := io.WriteString(stdin, dir+"\n"); err != nil {
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	return &watchdog{cmd: cmd, stdin: stdin}, nil
}

// release triggers the watchdog and waits until it has finished.
func (w *watchdog) release() error {
	if err := w.stdin.Close(); err != nil {
		return fmt.Errorf("running the watchdog: %w", err)
	}
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("running the watchdog: %w", err)
	}
	return nil
}
