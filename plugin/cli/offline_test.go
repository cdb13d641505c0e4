package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/test/golden"
)

// transcript runs the command lines of a golden file without a cluster, and compares the file with them and their output.
func transcript(t *testing.T, name string) string {
	t.Helper()
	t.Setenv("KUBECONFIG", "/no/such/file")
	commands := regexp.MustCompile(`(?m)^\$ kubectl handoff (.*)$`).FindAllStringSubmatch(golden.Read(t, "testdata", name+".golden"), -1)
	if len(commands) == 0 {
		t.Fatalf("%s has no command lines", name)
	}
	var seen strings.Builder
	for _, command := range commands {
		code, output := run(t, nil, words(command[1])...)
		fmt.Fprintf(&seen, "%s\n%s[exit code %d]\n\n", command[0], output, code)
	}
	golden.Check(t, name, seen.String())
	return seen.String()
}

func run(t *testing.T, change func(*cli.Environment), args ...string) (code int, output string) {
	t.Helper()
	input, err := os.Open("testdata/shop.yaml")
	expect.NoError(t, err)
	defer func() { _ = input.Close() }()
	var both bytes.Buffer
	env := cli.Environment{
		IOStreams: genericiooptions.IOStreams{In: input, Out: &both, ErrOut: &both},
		Version:   "v1.2.3",
		Now:       func() time.Time { return time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC) },
	}
	if change != nil {
		change(&env)
	}
	code = cli.Run(t.Context(), env, args)
	return code, both.String()
}

func words(line string) []string { return strings.Split(line, " ") }

// TestFiles explains and audits objects in files, also those of which parts are missing.
func TestFiles(t *testing.T) {
	for _, name := range []string{"explain", "audit", "partial"} {
		t.Run(name, func(t *testing.T) { transcript(t, name) })
	}
}

func TestErrorsAreOneLineWithRemedy(t *testing.T) {
	seen := transcript(t, "errors")
	if strings.Contains(seen, "not to be told") {
		t.Error("an error shows a file's contents")
	}
	for block := range strings.SplitSeq(strings.TrimSpace(seen), "\n\n") {
		lines := strings.Split(block, "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[1], "error: ") || lines[2] != "[exit code 2]" {
			t.Errorf("want one line and exit code 2, got:\n%s", block)
		}
	}
}

func TestEveryCommandHasAnExample(t *testing.T) {
	for _, command := range []string{"", "explain", "preview", "audit", "release", "strip", "enable", "disable", "status", "rules", "doctor"} {
		code, output := run(t, nil, strings.Fields(command+" --help")...)
		if code != cli.ExitOK || !strings.Contains(output, "Examples:\n") || !strings.Contains(output, "kubectl handoff "+command) {
			t.Errorf("%s: exit code %d\n%s", command, code, output)
		}
	}
}

func TestVersion(t *testing.T) {
	if code, output := run(t, nil, "--version"); code != cli.ExitOK || output != "kubectl handoff version v1.2.3\n" {
		t.Errorf("exit code %d, %q", code, output)
	}
}
