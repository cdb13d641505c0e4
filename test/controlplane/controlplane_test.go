package controlplane_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane"
)

func TestStopLeavesNothingBehind(t *testing.T) {
	var progress bytes.Buffer
	controlPlane := controlplane.ForTest(t, controlplane.Options{Output: &progress})
	expect.Equal(t, "number of processes", 3, len(mentioning(t, controlPlane.Dir)))
	expect.Equal(t, "lines of progress, one for each of two components", 2, strings.Count(progress.String(), "\n"))
	t.Log(progress.String())
	expect.NoError(t, controlPlane.Stop())
	wantNothingLeft(t, filepath.Base(controlPlane.Dir), controlPlane.Dir, 0)
	if err := controlPlane.Stop(); err != nil {
		t.Errorf("stopping again: %v", err)
	}
}

// wantNothingLeft fails the test unless, within the timeout, no process's command line contains the name and the directory is
// empty or missing.
func wantNothingLeft(t *testing.T, name, dir string, timeout time.Duration) {
	t.Helper()
	for end := time.Now().Add(timeout); ; time.Sleep(100 * time.Millisecond) {
		running := mentioning(t, name)
		files, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if len(running)+len(files) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left after %v: processes %q, files %v", timeout, running, files)
		}
	}
}

// mentioning lists the processes whose command line contains the name.
func mentioning(t *testing.T, name string) []string {
	t.Helper()
	list, err := exec.Command("ps", "-A", "-o", "pid=,args=").Output()
	expect.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(list)) {
		if strings.Contains(line, name) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
