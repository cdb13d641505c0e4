package layout_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/test/golden"
)

// TestOSSFuzzBuildsEveryTarget runs test/oss-fuzz/build.sh with programs that only record their arguments in place of those of
// OSS-Fuzz' image, and applies the rule by which the image finds the function: one line in the folder begins with "func NAME".
func TestOSSFuzzBuildsEveryTarget(t *testing.T) {
	src, err := filepath.Abs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(repository, filepath.Join(src, "handoff")); err != nil {
		t.Fatal(err)
	}
	for program, script := range map[string]string{"go": "", "compile_native_go_fuzzer_v2": `echo "$@" >>"$SRC/built"`} {
		if err := os.WriteFile(filepath.Join(src, program), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "sh", "-eu", "test/oss-fuzz/build.sh")
	build.Dir = repository
	build.Env = append(os.Environ(), "SRC="+src, "PATH="+src+":"+os.Getenv("PATH"))
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build.sh: %v\n%s", err, output)
	}
	var want []string
	begins := map[string]int{} // by folder and function
	for _, file := range testFiles(t) {
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`).FindAllStringSubmatch(golden.Read(t, file), -1) {
			want = append(want, fmt.Sprintf("%s%s %s %s_%s", module, folder, name[1], strings.ReplaceAll(folder, "/", "_"), name[1]))
			for end := range name[1] {
				begins[folder+name[1][:end+1]]++
			}
		}
	}
	for _, line := range want {
		if parts := strings.Fields(line); begins[strings.TrimPrefix(parts[0], module)+parts[1]] != 1 {
			t.Errorf("%s has another fuzz target whose name begins with %s", parts[0], parts[1])
		}
	}
	slices.Sort(want)
	got := strings.Split(strings.TrimSpace(golden.Read(t, filepath.Join(src, "built"))), "\n")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets that build.sh builds (-want +got):\n%s", diff)
	}
}
