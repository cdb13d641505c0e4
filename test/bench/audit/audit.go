// Package audit measures the plugin's audit of a large cluster beside a kubectl get of the same objects.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/test/bench/stage"
	"github.com/ownership-handoff/handoff/test/bench/table"
	"github.com/ownership-handoff/handoff/test/controlplane"
)

const (
	// rounds is how often each command runs. It is odd, so that there is a middle one.
	rounds = 3
	// target is the upper limit for the time of an audit, relative to kubectl get.
	target = 2
	// memoryTarget is the upper limit for the peak memory, relative to that for a tenth of the workloads: an audit keeps its
	// findings, but not the objects.
	memoryTarget = 2
)

// run is a finished command.
type run struct {
	took, cpu time.Duration
	resident  int64 // the peak, in bytes
	output    tail
}

// tail is a writer that keeps the end of what is written.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const kept = 1 << 10
	t.text = append(t.text, p[max(0, len(p)-kept):]...)
	t.text = t.text[max(0, len(t.text)-kept):]
	return len(p), nil
}

// Measure audits a cluster with a number of workloads, a fifth of them autoscaled.
func Measure(ctx context.Context, progress io.Writer, workloads int) (result table.Result, err error) {
	controlPlane, err := controlplane.Start(ctx, controlplane.Options{Output: progress, WithoutControllerManager: true})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, controlPlane.Stop()) }()
	plugin, err := pluginPath()
	if err != nil {
		return result, err
	}
	api, err := stage.NewClient(controlPlane.Config)
	if err != nil {
		return result, err
	}
	c := cluster{controlPlane: controlPlane, api: api}
	if err := c.createOriginals(ctx); err != nil {
		return result, err
	}
	auditing := []string{plugin, "audit", "-A", "--kubeconfig=" + controlPlane.Kubeconfig}
	if err := c.grow(ctx, workloads/10); err != nil {
		return result, err
	}
	few, err := median(ctx, auditing)
	if err != nil {
		return result, err
	}
	if err := c.grow(ctx, workloads); err != nil {
		return result, err
	}
	fmt.Fprintf(progress, "audit: %d workloads created\n", workloads)
	both, err := interleaved(ctx, progress, auditing, []string{controlPlane.Kubectl, "get", "deploy,hpa", "-A", "-o", "json"})
	if err != nil {
		return result, err
	}
	// Each autoscaled workload has a manifest that sets replicas.
	want := fmt.Sprintf("%d risks in %d objects", workloads/autoscaledShare, workloads)
	if !strings.Contains(string(both[0].output.text), want) {
		return result, fmt.Errorf("the audit does not report %q: %s", want, both[0].output.text)
	}
	result.Rows = report(workloads, few, both[0], both[1])
	return result, nil
}

func pluginPath() (string, error) {
	root, err := controlplane.Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", "kubectl-handoff")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("finding the plugin: %w; run make plugin", err)
	}
	return path, nil
}

// interleaved runs two commands in turn, and returns the median of each.
func interleaved(ctx context.Context, progress io.Writer, commands ...[]string) (medians []run, err error) {
	all := make([][]run, len(commands))
	for round := range rounds {
		for i := range commands {
			at := (round + i) % len(commands)
			r, err := execute(ctx, commands[at])
			if err != nil {
				return nil, err
			}
			all[at] = append(all[at], r)
			fmt.Fprintf(progress, "audit: %s took %.1f s\n", filepath.Base(commands[at][0]), r.took.Seconds())
		}
	}
	for _, runs := range all {
		medians = append(medians, medianOf(runs))
	}
	return medians, nil
}

func median(ctx context.Context, command []string) (run, error) {
	runs := make([]run, rounds)
	for i := range runs {
		var err error
		if runs[i], err = execute(ctx, command); err != nil {
			return run{}, err
		}
	}
	return medianOf(runs), nil
}

func medianOf(runs []run) run {
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.took, b.took) })
	return runs[len(runs)/2]
}

// execute runs a command.
func execute(ctx context.Context, command []string) (r run, err error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &r.output, os.Stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%s %s: %w", filepath.Base(command[0]), command[1], err)
	}
	r.took = time.Since(began)
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.resident = usage.Maxrss << 10 // in kilobytes on Linux
	}
	return r, nil
}

func (r run) String() string {
	return fmt.Sprintf("%.1f s, CPU %.1f s, peak %.0f MB", r.took.Seconds(), r.cpu.Seconds(), float64(r.resident)/1e6)
}

func report(workloads int, few, audited, got run) []table.Row {
	return []table.Row{{
		What: fmt.Sprintf("audit -A, %d workloads", workloads), Handoff: audited.String(),
		Reference: got.String() + ", kubectl get deploy,hpa -A -o json",
		Ratio:     table.Ratio{Value: audited.took.Seconds() / got.took.Seconds()}, Target: table.Ratio{Value: target},
	}, {
		What: "memory of the same", Handoff: fmt.Sprintf("%.0f MB", float64(audited.resident)/1e6),
		Reference: fmt.Sprintf("%.0f MB, with %d workloads", float64(few.resident)/1e6, workloads/10),
		Ratio:     table.Ratio{Value: float64(audited.resident) / float64(few.resident)}, Target: table.Ratio{Value: memoryTarget},
	}}
}

func namespaceObject(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
