package controlplane_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane"
)

// startVariable makes this test binary a program that starts a control plane and never stops it: it panics, exits or waits,
// depending on the value.
const startVariable = "TEST_START_CONTROL_PLANE_AND"

func TestMain(m *testing.M) {
	if then := os.Getenv(startVariable); then != "" {
		startControlPlaneAnd(then)
		return
	}
	os.Exit(m.Run())
}

func startControlPlaneAnd(then string) {
	controlPlane, err := controlplane.Start(context.Background(), controlplane.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.WriteFile(filepath.Join(controlPlane.Dir, "ready"), nil, 0o600); err != nil {
		panic(err)
	}
	if then == "panic" {
		panic("like go test after its timeout")
	}
	time.Sleep(5 * time.Minute)
}

func TestWatchdogLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		then  string         // what the program does: panic, exit or wait
		until string         // if it waits, wait for this file of the control plane
		send  syscall.Signal // then send this signal
	}{
		"panic":                     {then: "panic"},
		"SIGINT":                    {then: "wait", until: "ready", send: syscall.SIGINT},
		"SIGKILL":                   {then: "wait", until: "ready", send: syscall.SIGKILL},
		"SIGKILL while etcd starts": {then: "wait", until: "etcd.log", send: syscall.SIGKILL},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			program := exec.Command(os.Args[0])
			program.Env = append(os.Environ(), startVariable+"="+test.then, "TMPDIR="+parent)
			program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			expect.NoError(t, program.Start())
			dir := waitForFile(t, parent, test.until)
			if test.send != 0 {
				// Signal the whole process group, as a terminal does.
				if err := syscall.Kill(-program.Process.Pid, test.send); err != nil {
					t.Error(err)
				}
			}
			if err := program.Wait(); err == nil {
				t.Error("the program exited with code 0")
			}
			began := time.Now()
			wantNothingLeft(t, filepath.Base(dir), parent, time.Minute)
			t.Logf("nothing left after %v", time.Since(began).Round(100*time.Millisecond))
		})
	}
}

// waitForFile waits until the control plane in the parent directory has the file, and returns the control plane's directory.
func waitForFile(t *testing.T, parent, name string) string {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		dirs, err := filepath.Glob(filepath.Join(parent, "handoff-plane-*.d"))
		expect.NoError(t, err)
		if len(dirs) == 0 {
			continue
		}
		if _, err := os.Stat(filepath.Join(dirs[0], name)); err == nil {
			return dirs[0]
		}
	}
	t.Fatalf("no control plane in %s has the file %s", parent, name)
	return ""
}
