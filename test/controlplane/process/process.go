// Package process runs one server that a test needs: it starts it, waits until it answers, keeps its log and ends it.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Process is a running server.
type Process struct {
	name   string
	cmd    *exec.Cmd
	log    string
	exited chan struct{} // closed once err holds how it ended
	err    error
}

// Start runs a binary that writes all it says to the file log.
//
// The process gets a group of its own, so that Ctrl-C in a terminal reaches only the test, which then ends its processes
// in an order that makes sense. Its output goes to a file and not through a pipe: it outlives the test by a moment when
// the test is killed, and must not hang on a pipe that nobody reads, nor keep `go test` waiting for one.
func Start(log, binary string, args ...string) (*Process, error) {
	name := filepath.Base(binary)
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", name, err)
	}
	defer func() { _ = output.Close() }()

	cmd := exec.Command(binary, args...) //nolint:noctx // it lives until Stop, not until a context is done
	p := &Process{name: name, cmd: cmd, log: log, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// ExitCode is the code that the process has ended with: -1 before it has, and where a signal has ended it.
func (p *Process) ExitCode() int {
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	default:
		return -1
	}
}

// Log is all that the process has written so far.
func (p *Process) Log() string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	return string(content)
}

// Stop asks the process to end, and kills it when it has not within the grace period.
//
// The error says when it had to be killed, ended with a failure, or had ended by itself before. Stopping twice is fine.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.exited:
		return p.failure()
	case <-time.After(grace):
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.exited
	return fmt.Errorf("%s did not end within %v and was killed", p.name, grace)
}

// failure says how the process ended, once it has; ending because it was asked to is none.
func (p *Process) failure() error {
	if p.err == nil {
		return nil
	}
	var exit *exec.ExitError
	if errors.As(p.err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGTERM {
			return nil
		}
	}
	return fmt.Errorf("%s ended: %w", p.name, p.err)
}
