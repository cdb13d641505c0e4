package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// selection is which tests run.
type selection struct {
	packages []string
	pattern  string // of the tests' names, empty for all
}

// test runs the tests on one version. It returns an error if they could not run; a test that fails is a result.
func test(ctx context.Context, root, name string, which selection) (results, error) {
	server, kubectl, skewed := strings.Cut(name, ":")
	if !skewed {
		kubectl = server
	}
	binaries, err := combined(root, server, kubectl)
	if err != nil {
		return results{}, err
	}
	r := results{Name: name}
	if r.Server, err = versionOf(ctx, filepath.Join(binaries, "kube-apiserver"), "--version"); err != nil {
		return results{}, err
	}
	if r.Kubectl, err = versionOf(ctx, filepath.Join(binaries, "kubectl"), "version", "--client"); err != nil {
		return results{}, err
	}
	log, err := os.Create(filepath.Join(folder(root), fileName(name)+".log"))
	if err != nil {
		return results{}, fmt.Errorf("creating the log: %w", err)
	}
	defer func() { _ = log.Close() }()
	fmt.Printf("versions: %s ... ", r.title())
	began := time.Now()
	args := []string{"test", "-json", "-count=1", "-timeout=30m", "-parallel=8"}
	if which.pattern != "" {
		args = append(args, "-run="+which.pattern)
	}
	if r.Tests, err = goTest(ctx, root, binaries, log, append(args, which.packages...)); err != nil {
		return results{}, fmt.Errorf("%w; see %s", err, log.Name())
	}
	fmt.Printf("%d tests in %.0f s, %d failed; %s has the output\n",
		len(r.Tests), time.Since(began).Seconds(), len(r.failed()), log.Name())
	return r, nil
}

// goTest runs go test, and returns the outcomes of its tests.
func goTest(ctx context.Context, root, binaries string, log io.Writer, args []string) (map[string]outcome, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = root, append(os.Environ(), "CONTROLPLANE_BIN="+binaries), log
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("running go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("running go test: %w", err)
	}
	c := collected{outputs: map[string]string{}, actions: map[string]string{}}
	if err := c.read(output, log); err != nil {
		return nil, err
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return nil, fmt.Errorf("running go test: %w", err)
	}
	tests := c.outcomes()
	if len(tests) == 0 {
		return nil, errors.New("go test has run no test")
	}
	return tests, nil
}

// combined returns a directory with the servers of one version and the kubectl of another.
func combined(root, server, kubectl string) (string, error) {
	if err := os.MkdirAll(folder(root), 0o700); err != nil {
		return "", fmt.Errorf("creating a directory for the results: %w", err)
	}
	if server == kubectl {
		return built(root, server), nil
	}
	dir := filepath.Join(folder(root), fileName(server+":"+kubectl))
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return "", fmt.Errorf("combining two versions: %w", err)
	}
	for _, part := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"} {
		from := server
		if part == "kubectl" {
			from = kubectl
		}
		if err := os.Symlink(filepath.Join(built(root, from), part), filepath.Join(dir, part)); err != nil {
			return "", fmt.Errorf("combining two versions: %w", err)
		}
	}
	return dir, nil
}

// built returns the directory in which make builds a version.
func built(root, name string) string {
	older := filepath.Join(root, "bin", "controlplane-"+name)
	if _, err := os.Stat(older); err == nil {
		return older
	}
	return filepath.Join(root, "bin", "controlplane")
}

// versionOf runs a binary that prints its version, and returns it without the v.
func versionOf(ctx context.Context, binary string, args ...string) (string, error) {
	text, err := exec.CommandContext(ctx, binary, args...).Output()
	if err != nil {
		return "", fmt.Errorf("reading the version of %s: %w", binary, err)
	}
	found := regexp.MustCompile(`v(\d+\.\d+\.\d+\S*)`).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("reading the version of %s: it prints %q", binary, text)
	}
	return string(found[1]), nil
}

// collected are the events of go test -json, by "package test/subtest".
type collected struct {
	outputs, actions map[string]string
}

func (c *collected) read(from io.Reader, log io.Writer) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("reading the output of go test: %w", err)
		}
		_, _ = io.WriteString(log, e.Output)
		_, inModule, _ := strings.Cut(e.Package, "/handoff/")
		key := inModule + " " + e.Test
		switch e.Action {
		case "output":
			c.outputs[key] += e.Output
		case failed:
			if e.Test == "" {
				key = inModule + " " + wholePackage
			}
			c.actions[key] = e.Action
		case passed, skipped:
			if e.Test != "" {
				c.actions[key] = e.Action
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the output of go test: %w", err)
	}
	return nil
}

// message matches the text that a test prints when it is skipped.
var message = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)$`)

// outcomes returns the outcome of each test without its subtests. A package that has failed is an outcome as well, unless one of
// its tests has failed.
func (c *collected) outcomes() map[string]outcome {
	tests := map[string]outcome{}
	explained := map[string]bool{}
	for key, action := range c.actions {
		pkg, path, _ := strings.Cut(key, " ")
		if path == wholePackage {
			continue
		}
		explained[pkg] = explained[pkg] || action == failed
		top, _, isSubtest := strings.Cut(path, "/")
		o := tests[pkg+" "+top]
		if !isSubtest {
			o.Action = action
		} else if !c.hasSubtests(key) {
			o.Subtests++
			if action == skipped {
				o.Skipped++
			}
		}
		if action == skipped {
			o.Reasons = append(o.Reasons, c.reason(key))
			slices.Sort(o.Reasons)
			o.Reasons = slices.Compact(o.Reasons)
		}
		tests[pkg+" "+top] = o
	}
	for key, action := range c.actions {
		if pkg, path, _ := strings.Cut(key, " "); path == wholePackage && !explained[pkg] {
			tests[key] = outcome{Action: action}
		}
	}
	return tests
}

func (c *collected) hasSubtests(key string) bool {
	for other := range c.actions {
		if strings.HasPrefix(other, key+"/") {
			return true
		}
	}
	return false
}

func (c *collected) reason(key string) string {
	if found := message.FindStringSubmatch(c.outputs[key]); found != nil {
		return found[1]
	}
	return "no reason given"
}
