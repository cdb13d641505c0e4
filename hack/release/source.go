package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// source is what is built, and its metadata.
type source struct {
	// Root is the folder with go.mod.
	Root    string
	Version string
	// Revision is the commit; it is empty if the source is not a clone.
	Revision string
	// Time is that of all files that are built.
	Time time.Time
	// Compiler is the version of Go, on which the result depends.
	Compiler string
}

// look determines the image's metadata. A source that is not a clone, such as an unpacked archive, has no commit: its version is
// unknown unless it is given, and its time is 1970.
func look(ctx context.Context, root, version string) (source, error) {
	from := source{Root: root, Version: version, Time: time.Unix(0, 0).UTC()}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return from, fmt.Errorf("--source=%s is not a Go module: %w", root, err)
	}
	var err error
	if from.Compiler, err = from.output(ctx, "go", "env", "GOVERSION"); err != nil {
		return from, err
	}
	if err := from.readCommit(ctx); err != nil {
		return from, err
	}
	if from.Version == "" {
		from.Version = "unknown"
	}
	if text, set := os.LookupEnv("SOURCE_DATE_EPOCH"); set {
		if err := from.setTime(text); err != nil {
			return from, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
	}
	return from, nil
}

func (s *source) readCommit(ctx context.Context) error {
	// Do not ask git, which would also find a repository that contains an unpacked archive.
	if _, err := os.Stat(filepath.Join(s.Root, ".git")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if s.Version == "" {
		// 12 digits of the commit are enough. By default, their number depends on how many objects a clone has, so that two clones
		// of a commit would have different versions.
		version, err := s.output(ctx, "git", "describe", "--tags", "--always", "--dirty", "--abbrev=12")
		if err != nil {
			return err
		}
		s.Version = version
	}
	commit, err := s.output(ctx, "git", "log", "-1", "--no-show-signature", "--format=%H %ct")
	if err != nil {
		return err
	}
	revision, seconds, _ := strings.Cut(commit, " ")
	s.Revision = revision
	return s.setTime(seconds)
}

func (s *source) setTime(seconds string) error {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a number of seconds since 1970", seconds)
	}
	s.Time = time.Unix(n, 0).UTC()
	return nil
}

// output returns the output of a command in the source's folder.
func (s *source) output(ctx context.Context, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = s.Root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s in %s: %w: %s", strings.Join(command, " "), s.Root, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(printed)), nil
}

// file returns a file of the source.
func (s *source) file(path ...string) ([]byte, error) {
	return os.ReadFile(filepath.Join(append([]string{s.Root}, path...)...))
}

// compile returns the static binary of a program in the folder cmd. It does not depend on the folder and the machine on which it is
// built.
func (s *source) compile(ctx context.Context, program string, platform v1.Platform) (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	target := filepath.Join(dir, program)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid= -X main.version="+s.Version, "-o", target, "./cmd/"+program)
	cmd.Dir = s.Root
	cmd.Env = append(os.Environ(), "GOOS="+platform.OS, "GOARCH="+platform.Architecture, "CGO_ENABLED=0",
		// Override the user's settings, which would change the binary. GOFLAGS repeats a flag, because go treats an empty
		// variable as one that is not set, and reads it from the user's configuration file.
		"GOFLAGS=-trimpath", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "GOEXPERIMENT=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build in %s: %w", s.Root, err)
	}
	return os.ReadFile(target)
}
