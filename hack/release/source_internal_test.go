package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLook verifies the labels of an image whose source is not a clone, and which of several times is used.
func TestLook(t *testing.T) {
	for name, c := range map[string]struct {
		committed      bool
		version, epoch string
		want           source
	}{
		"an unpacked archive has no version, and the time 1970": {want: source{Version: "unknown", Time: time.Unix(0, 0)}},
		"its version can be set, and its time by the epoch":     {version: "v1", epoch: "86400", want: source{Version: "v1", Time: time.Unix(86400, 0)}},
		"a clone has the commit's name and time":                {committed: true, want: source{Version: "v0.1.0", Time: time.Unix(1e9, 0)}},
		"the epoch overrides the commit's time":                 {committed: true, epoch: "7", want: source{Version: "v0.1.0", Time: time.Unix(7, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			must(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/m\n"), 0o600))
			if c.committed {
				c.want.Revision = commit(t, root)
			}
			setEpoch(t, c.epoch)
			c.want.Root, c.want.Time, c.want.Compiler = root, c.want.Time.UTC(), compiler(t)
			got, err := look(t.Context(), root, c.version)
			must(t, err)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(source{})); diff != "" {
				t.Errorf("source (-want +got):\n%s", diff)
			}
		})
	}
}

// commit creates a repository with a commit of the second 1e9 and the tag v0.1.0, and returns the commit.
func commit(t *testing.T, root string) string {
	t.Helper()
	t.Setenv("GIT_COMMITTER_DATE", "1000000000 +0000")
	git(t, root, "init", "--quiet")
	git(t, root, "add", ".")
	git(t, root, "-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "--quiet", "--message=m")
	git(t, root, "tag", "v0.1.0")
	return git(t, root, "rev-parse", "HEAD")
}

// TestRefusals verifies what is rejected before anything is built, and the messages.
func TestRefusals(t *testing.T) {
	foreign := t.TempDir()
	kept := filepath.Join(foreign, "kept")
	must(t, os.WriteFile(kept, nil, 0o600))
	for name, c := range map[string]struct {
		args  []string
		epoch string
		want  string
	}{
		"a version that is no tag":         {args: []string{"--version=v1.0.0+dirty"}, want: "without '+'"},
		"a platform that is not Linux":     {args: []string{"--image-platforms=windows/amd64"}, want: "linux/ARCHITECTURE"},
		"a platform with a variant":        {args: []string{"--image-platforms=linux/arm/v7"}, want: "linux/ARCHITECTURE"},
		"a platform twice":                 {args: []string{"--image-platforms=linux/arm64,linux/arm64"}, want: "twice"},
		"no platform":                      {args: []string{"--image-platforms="}, want: "--image-platforms is empty"},
		"an argument":                      {args: []string{"push"}, want: "say release-tool image"},
		"a folder that is not the root":    {args: []string{"--source=testdata"}, want: "is not a Go module"},
		"an output that is another folder": {args: []string{"--output", foreign}, want: "is not an OCI layout"},
		"an epoch that is a date":          {epoch: "2026-01-01", want: "is not a number of seconds"},
		"an epoch before 1970":             {epoch: "-1", want: "is not a number of seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			setEpoch(t, c.epoch)
			var printed bytes.Buffer
			err := run(t.Context(), append([]string{"image", "--source=../.."}, c.args...), &printed)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
			if printed.Len() > 0 {
				t.Errorf("unexpected output %q", &printed)
			}
		})
	}
	err := run(t.Context(), []string{"build", "--version=v0.1.0", "--source=testdata", "--push"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "say release-tool image") {
		t.Errorf("a push of all files: got error %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error("the other folder has changed:", err)
	}
}

// git runs git in a folder, and returns what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	from := source{Root: dir}
	said, err := from.output(t.Context(), append([]string{"git"}, args...)...)
	must(t, err)
	return said
}

// must ends the test if an error is not nil.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compiler returns the version of Go.
func compiler(t *testing.T) string {
	t.Helper()
	from := source{Root: "."}
	version, err := from.output(t.Context(), "go", "env", "GOVERSION")
	must(t, err)
	return version
}

// setEpoch sets SOURCE_DATE_EPOCH until the test ends. If it is empty, the variable is unset, whatever the environment has.
func setEpoch(t *testing.T, seconds string) {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", seconds)
	if seconds == "" {
		must(t, os.Unsetenv("SOURCE_DATE_EPOCH"))
	}
}
