package layout_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/golden"
)

// TestOSSFuzzBuildsEveryTarget runs test/oss-fuzz/build.sh. In place of those of OSS-Fuzz' image, there are a compile_go_fuzzer that
// builds a program that calls the function once, and a zip that only copies the first seed.
func TestOSSFuzzBuildsEveryTarget(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the script is for an image of Linux")
	}
	repository, err := filepath.Abs(root)
	expect.NoError(t, err)
	src, work, out := t.TempDir(), t.TempDir(), t.TempDir()
	expect.NoError(t, os.Symlink(repository, filepath.Join(src, "handoff")))
	for program, script := range map[string]string{
		"compile_go_fuzzer": `echo "$@" >>"$SRC/built"
printf 'package main\nimport target "%s"\nfunc main() { target.%s(nil) }\n' "$1" "$2" >main.go
go build -ldflags=-w -o "$OUT/$3" main.go`,
		"zip": `cp "$3" "$2"`,
	} {
		expect.NoError(t, os.WriteFile(filepath.Join(src, program), []byte("#!/bin/sh -eu\n"+script+"\n"), 0o700))
	}
	run := func(name string, arg ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, arg...)
		command.Env = append(os.Environ(), "SRC="+src, "WORK="+work, "OUT="+out, "SANITIZER=address", "PATH="+src+":"+os.Getenv("PATH"))
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, output)
		}
	}
	run("sh", "-eu", root+"/test/oss-fuzz/build.sh")
	var want []string
	for _, file := range testFiles(t) {
		folder, err := filepath.Rel(root, filepath.Dir(file))
		expect.NoError(t, err)
		for _, name := range regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`).FindAllStringSubmatch(golden.Read(t, file), -1) {
			fuzzer := strings.ReplaceAll(folder, "/", "_") + "_" + name[1]
			want = append(want, fmt.Sprintf("%stest/oss-fuzz/%s LibFuzzer %[2]s", module, fuzzer))
			run(filepath.Join(out, fuzzer))
			_ = golden.Read(t, out, fuzzer+"_seed_corpus.zip")
		}
	}
	slices.Sort(want)
	got := strings.Split(strings.TrimSpace(golden.Read(t, src, "built")), "\n")
	slices.Sort(got)
	expect.Equal(t, "targets that build.sh builds", want, got)
}
