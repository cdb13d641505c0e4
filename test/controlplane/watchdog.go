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

// watchdog is a process that outlives this one, and then ends all that is left of a plane and removes its directory.
//
// It waits for the end of its standard input. The other end is a pipe that only this process holds: os/exec opens it
// close-on-exec, so that no other child keeps it open. Whatever ends this process therefore sets the watchdog free.
type watchdog struct {
	cmd   *exec.Cmd
	leash io.WriteCloser
}

// watch starts a watchdog for the directory.
func watch(dir string) (*watchdog, error) {
	// The last argument is for whoever reads the list of processes. It is not the whole path, on purpose: see the script.
	//nolint:noctx // it has to outlive every context
	cmd := exec.Command("sh", "-c", watchdogScript, "handoff-watchdog", filepath.Base(dir))
	// In a session of its own, neither Ctrl-C nor the end of a terminal reaches it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	leash, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	if _, err := io.WriteString(leash, dir+"\n"); err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	return &watchdog{cmd: cmd, leash: leash}, nil
}

// release lets the watchdog do its work now, and returns when nothing is left.
func (w *watchdog) release() error {
	if err := w.leash.Close(); err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	return nil
}
