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

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// planeVariable makes this test binary a program that starts a plane and never stops it, but does what the value says.
const planeVariable = "TEST_START_A_PLANE_AND"

func TestMain(m *testing.M) {
	if then := os.Getenv(planeVariable); then != "" {
		startAPlaneAnd(then)
		return
	}
	os.Exit(m.Run())
}

func startAPlaneAnd(then string) {
	plane, err := controlplane.Start(context.Background(), controlplane.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.WriteFile(filepath.Join(plane.Dir, "ready"), nil, 0o600); err != nil {
		panic(err)
	}
	switch then {
	case "panic":
		panic("as go test does it after its timeout")
	case "exit":
		os.Exit(3)
	}
	time.Sleep(5 * time.Minute)
}

func TestAProgramThatEndsWithoutStoppingItsPlaneLeavesNothing(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		then  string         // what the program does, or wait for
		until string         // this file of the plane, then
		send  syscall.Signal // this signal
	}{
		"it panics":                         {then: "panic"},
		"it calls os.Exit":                  {then: "exit"},
		"Ctrl-C ends it":                    {then: "wait", until: "ready", send: syscall.SIGINT},
		"SIGTERM ends it":                   {then: "wait", until: "ready", send: syscall.SIGTERM},
		"SIGKILL ends it":                   {then: "wait", until: "ready", send: syscall.SIGKILL},
		"SIGKILL ends it while etcd starts": {then: "wait", until: "etcd.log", send: syscall.SIGKILL},
		"SIGKILL ends it while it starts":   {then: "wait", until: "kubeconfig", send: syscall.SIGKILL},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			program := exec.Command(os.Args[0])
			program.Env = append(os.Environ(), planeVariable+"="+test.then, "TMPDIR="+parent)
			program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := program.Start(); err != nil {
				t.Fatal(err)
			}
			dir := waitForFile(t, parent, test.until)
			if test.send != 0 {
				// To the whole group, as a terminal does it.
				if err := syscall.Kill(-program.Process.Pid, test.send); err != nil {
					t.Error(err)
				}
			}
			if err := program.Wait(); err == nil {
				t.Error("the program ended with success")
			}
			began := time.Now()
			wantNothingLeft(t, filepath.Base(dir), parent, time.Minute)
			t.Logf("nothing left after %v", time.Since(began).Round(100*time.Millisecond))
		})
	}
}

// waitForFile waits until the plane below the folder has the file, and returns the plane's directory.
func waitForFile(t *testing.T, parent, name string) string {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		dirs, err := filepath.Glob(filepath.Join(parent, "handoff-plane-*.d"))
		if err != nil {
			t.Fatal(err)
		}
		if len(dirs) == 0 {
			continue
		}
		if _, err := os.Stat(filepath.Join(dirs[0], name)); err == nil {
			return dirs[0]
		}
	}
	t.Fatalf("no plane in %s has got %s", parent, name)
	return ""
}
