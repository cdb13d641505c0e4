// Package process runs a server for a test: it starts the server, waits until it is healthy, stores its log and stops it.
package process

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a running server.
type Process struct {
	name   string
	cmd    *exec.Cmd
	log    string
	exited chan struct{} // closed when the process has ended and err is set
	err    error
}

// Start starts a binary with its standard output and standard error appended to the file log.
//
// The process gets its own process group, so that Ctrl-C in a terminal reaches only the test, which then stops its processes
// in the right order. The output goes to a file instead of a pipe, because the process outlives a killed test for a moment: it
// must neither block on a pipe without a reader nor make `go test` wait for an open pipe.
func Start(log, binary string, args ...string) (*Process, error) {
	name := filepath.Base(binary)
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the log of %s: %w", name, err)
	}
	defer func() { _ = output.Close() }()

	cmd := exec.Command(binary, args...) //nolint:noctx // it runs until Stop, not until a context is done
	p := &Process{name: name, cmd: cmd, log: log, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited returns a channel that is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Log returns all output of the process so far.
func (p *Process) Log() string { return read(p.log) }

func read(log string) string {
	content, err := os.ReadFile(log)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	return string(content)
}

// Stop sends SIGTERM to the process, and kills it if it has not exited within the grace period.
//
// It returns an error if the process was killed or has exited with a failure. It may be called more than once.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	select {
	case <-p.exited:
		return p.failure()
	case <-time.After(grace):
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing %s: %w", p.name, err)
	}
	<-p.exited
	return fmt.Errorf("%s did not exit within %v and was killed", p.name, grace)
}

// failure returns an error if the process has exited with a failure. Termination by SIGTERM is not a failure.
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

// WaitHealthy waits until the URL returns 200. If the process ends before that, or ctx is done, it returns an error with the
// end of the log. It does not verify the server's certificate.
func (p *Process) WaitHealthy(ctx context.Context, url string) error {
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	answer := errors.New("no response yet")
	for {
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended before it was ready: %s\n%s", p.name, p.cmd.ProcessState, LogEnd(p.log))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %w\n%s", p.name, ctx.Err(), answer, LogEnd(p.log))
		case <-retry.C:
		}
		if _, answer = Get(ctx, url); answer == nil {
			return nil
		}
	}
}

// Get returns the body of a response, which must have the status 200. It does not verify the server's certificate.
func Get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	client := &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s returned: %s: %s", url, response.Status, body)
	}
	return string(body), err
}

// LogEnd returns the end of a log file for an error message, as indented lines with a heading.
func LogEnd(log string) string {
	const lines = 25 // enough for a panic's message and the lines before it
	return "the end of " + log + ":\n\t" + strings.ReplaceAll(Tail(read(log), lines), "\n", "\n\t")
}

// Tail returns the last lines of a text.
func Tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
