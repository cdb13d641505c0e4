// Command versions runs the tests that need a control plane on each version of Kubernetes, and prints a table of tests and
// versions. It explains each difference with the reason that the test prints when it is skipped.
//
//	versions 1.30 1.36 1.36:1.34
//
// 1.36:1.34 is a control plane of 1.36 with the kubectl of 1.34. The results of each version are kept in bin/versions until `make
// clean`, and are part of later tables. --failed repeats only the tests that failed, and replaces their results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// packages returns the packages that run. They need a control plane, and are about what an API server or kubectl does.
func packages() []string {
	return []string{
		"./test/controlplane", "./test/e2e", "./test/guard", "./test/apply", "./test/plugin", "./test/manifests", "./webhook/cluster",
	}
}

func main() {
	update := flag.Bool("update", false, "write the results to docs/compatibility.md")
	run := flag.String("run", "", "run only the tests that match this `pattern`; the results are printed, but not kept")
	repeat := flag.Bool("failed", false, "run only the tests that have failed before")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if *repeat && *run != "" {
		fmt.Fprintln(os.Stderr, "versions: -failed and -run exclude each other")
		os.Exit(2)
	}
	if err := play(ctx, flag.Args(), *run, *repeat, *update); err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		os.Exit(1)
	}
}

// play runs the tests on each version, and returns an error if a test has failed.
func play(ctx context.Context, names []string, run string, repeat, update bool) error {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	var failures []error
	for _, name := range names {
		r, err := testAgain(ctx, root, name, run, repeat)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if failed := r.failed(); len(failed) > 0 {
			failures = append(failures, fmt.Errorf("%s: %d tests failed: %s", name, len(failed), strings.Join(failed, ", ")))
		}
		if run != "" {
			fmt.Print(table([]results{r}))
			continue
		}
		if err := r.write(root); err != nil {
			return err
		}
	}
	if run != "" {
		return errors.Join(failures...)
	}
	all, err := readAll(root)
	if err != nil {
		return err
	}
	fmt.Print(table(all), "\n", summary(all))
	if update {
		failures = append(failures, writePage(root, summary(all)))
	}
	return errors.Join(failures...)
}

// testAgain runs the tests on one version or, if only failed tests are repeated, those of the kept results.
func testAgain(ctx context.Context, root, name, run string, repeat bool) (results, error) {
	if !repeat {
		return test(ctx, root, name, selection{packages: packages(), pattern: run})
	}
	before, err := read(root, name)
	if err != nil || len(before.failed()) == 0 {
		return before, err
	}
	after, err := test(ctx, root, name, before.failures())
	if err != nil {
		return results{}, err
	}
	return before.replacedBy(after), nil
}
