package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

// tailLines is the number of log lines that an error quotes: enough for a panic's message and the lines before it.
const tailLines = 25

// WaitHealthy waits until the URL returns 200. If the process ends before that, or ctx is done, it returns an error with the
// end of the log. It does not verify the server's certificate.
func (p *Process) WaitHealthy(ctx context.Context, url string) error {
	client := &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
	}
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	answer := "no response yet"
	for {
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended before it was ready: %s\n%s", p.name, p.cmd.ProcessState, Tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; %s returned: %s\n%s", p.name, ctx.Err(), url, answer, Tail(p.log))
		case <-retry.C:
		}
		var ok bool
		if ok, answer = get(ctx, client, url); ok {
			return nil
		}
	}
}

// get reports whether the URL returns 200, and returns the status or the error.
func get(ctx context.Context, client *http.Client, url string) (ok bool, answer string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false, err.Error()
	}
	response, err := client.Do(request)
	if err != nil {
		return false, err.Error()
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK, response.Status
}

// Tail returns the end of a log file for an error message, as indented lines with a heading.
func Tail(log string) string {
	content, err := os.ReadFile(log)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if skip := len(lines) - tailLines; skip > 0 {
		lines = lines[skip:]
	}
	return "the end of " + log + ":\n\t" + strings.Join(lines, "\n\t")
}
