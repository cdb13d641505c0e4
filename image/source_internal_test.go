package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestLook holds what an image says of a source that is no clone, and which time goes before which.
func TestLook(t *testing.T) {
	for name, c := range map[string]struct {
		committed      bool
		version, epoch string
		want           source
	}{
		"an unpacked archive is unknown, and of 1970":         {want: source{version: "unknown", time: time.Unix(0, 0)}},
		"its version can be given, and its time by the epoch": {version: "v1", epoch: "86400", want: source{version: "v1", time: time.Unix(86400, 0)}},
		"a clone has its commit's name and time":              {committed: true, want: source{version: "v0.1.0", time: time.Unix(1e9, 0)}},
		"the epoch goes before the commit's time":             {committed: true, epoch: "7", want: source{version: "v0.1.0", time: time.Unix(7, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/m\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.committed {
				c.want.revision = commit(t, root)
			}
			setEpoch(t, c.epoch)
			c.want.root, c.want.time, c.want.compiler = root, c.want.time.UTC(), compiler(t)
			got, err := look(t.Context(), root, c.version)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(source{})); diff != "" {
				t.Errorf("source (-want +got):\n%s", diff)
			}
		})
	}
}

// commit makes a repository with a commit of the second 1e9 and the tag v0.1.0, and returns the commit.
func commit(t *testing.T, root string) string {
	t.Helper()
	t.Setenv("GIT_COMMITTER_DATE", "1000000000 +0000")
	git(t, root, "init", "--quiet")
	git(t, root, "add", ".")
	git(t, root, "-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "--quiet", "--message=m")
	git(t, root, "tag", "v0.1.0")
	return git(t, root, "rev-parse", "HEAD")
}

// compiler is the version of Go that builds.
func compiler(t *testing.T) string {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), "go", "env", "GOVERSION").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(version))
}

// setEpoch sets SOURCE_DATE_EPOCH until the test ends; empty: there is none, whatever the test was called with.
func setEpoch(t *testing.T, seconds string) {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", seconds)
	if seconds == "" {
		if err := os.Unsetenv("SOURCE_DATE_EPOCH"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefusals holds what is refused before anything is built, and in which words.
func TestRefusals(t *testing.T) {
	foreign := t.TempDir()
	kept := filepath.Join(foreign, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args  []string
		epoch string
		want  string
	}{
		"a version that is no tag":       {args: []string{"--version=v1.0.0+dirty"}, want: "no '+'"},
		"a platform that is not Linux":   {args: []string{"--platforms=windows/amd64"}, want: "linux/ARCHITECTURE"},
		"a platform with a variant":      {args: []string{"--platforms=linux/arm/v7"}, want: "linux/ARCHITECTURE"},
		"a platform twice":               {args: []string{"--platforms=linux/arm64,linux/arm64"}, want: "twice"},
		"no platform":                    {args: []string{"--platforms="}, want: "none to build for"},
		"an argument":                    {args: []string{"push"}, want: "takes flags only"},
		"a folder that is not the root":  {args: []string{"--source=testdata"}, want: "no Go module there"},
		"an output that holds much else": {args: []string{"--output", foreign}, want: "no OCI layout"},
		"an epoch that is a date":        {epoch: "2026-01-01", want: "no number of seconds"},
		"an epoch before 1970":           {epoch: "-1", want: "no number of seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			setEpoch(t, c.epoch)
			var printed bytes.Buffer
			err := run(t.Context(), append([]string{"--source=.."}, c.args...), &printed)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, which does not say %q", err, c.want)
			}
			if printed.Len() > 0 {
				t.Errorf("it printed %q", &printed)
			}
		})
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error("the other output has not been left alone:", err)
	}
}

// TestPush holds that a registry has all platforms afterwards, under the tag.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	index, err := random.Index(100, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(strings.TrimPrefix(server.URL, "http://") + "/handoff-webhook:v1")
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := push(t.Context(), &printed, tag, index); err != nil {
		t.Fatal(err)
	}
	if want := "pushed " + tag.Context().Name() + "@" + digest(t, index) + "\n"; printed.String() != want {
		t.Errorf("it printed %q, not %q", &printed, want)
	}
	stored, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(digest(t, index), digest(t, stored)); diff != "" {
		t.Errorf("digest in the registry (-pushed +stored):\n%s", diff)
	}
	manifest, err := stored.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range manifest.Manifests {
		if _, err := remote.Image(tag.Digest(one.Digest.String())); err != nil {
			t.Error("the registry lacks an image of the index:", err)
		}
	}
}
