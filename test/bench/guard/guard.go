// Package guard measures what the guard (manifests/guard) adds to a write, by the number of autoscalers in the namespace.
package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/bench/table"
	"github.com/ownership-handoff/handoff/test/controlplane"
)

const (
	rounds = 300
	warmUp = 20
	// target is the upper limit for the time of a kept write, relative to the same write in a namespace without the guard.
	target = 2
	// growthTarget is the upper limit for the time with the most autoscalers, relative to the time with one.
	growthTarget = 1.25
)

// sizes are the numbers of autoscalers in the guarded namespaces.
func sizes() []int { return []int{1, 64, 256, 1024} }

// Measure sends the same write, which sets autoscaled replicas, to each namespace in turn.
func Measure(ctx context.Context, progress io.Writer) (rows []table.Row, err error) {
	controlPlane, err := controlplane.Start(ctx, controlplane.Options{Output: progress, WithoutControllerManager: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, controlPlane.Stop()) }()
	config := rest.CopyConfig(controlPlane.Config)
	config.QPS = -1 // no client-side rate limit
	api, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	spaces := []*space{{name: "without-guard", autoscalers: 1}}
	for _, n := range sizes() {
		spaces = append(spaces, &space{name: fmt.Sprintf("guarded-%d", n), autoscalers: n, guarded: true})
	}
	for _, s := range spaces {
		s.api = api
		fmt.Fprintf(progress, "guard: creating %d autoscalers in namespace %s\n", s.autoscalers, s.name)
		if err := s.create(ctx); err != nil {
			return nil, fmt.Errorf("setting up namespace %s: %w", s.name, err)
		}
	}
	if err := install(ctx, controlPlane, spaces); err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "guard: %d writes in each namespace\n", rounds)
	if err := interleave(ctx, spaces); err != nil {
		return nil, err
	}
	return report(spaces), nil
}

// install installs the guard and waits until it keeps replicas in the guarded namespaces.
func install(ctx context.Context, controlPlane *controlplane.ControlPlane, spaces []*space) error {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	folder := filepath.Join(root, "manifests", "guard")
	if out, err := exec.CommandContext(ctx, controlPlane.Kubectl, "apply", "-k", folder).CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply -k %s: %w\n%s", folder, err, out)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, s := range spaces {
		for err := s.write(ctx); err != nil; err = s.write(ctx) {
			if ctx.Err() != nil {
				return fmt.Errorf("waiting for the guard: %w", err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

// interleave sends one write to each namespace in each round, so that other load on the machine affects all of them.
func interleave(ctx context.Context, spaces []*space) error {
	for round := range warmUp + rounds {
		for i := range spaces {
			s := spaces[(round+i)%len(spaces)]
			start := time.Now()
			if err := s.write(ctx); err != nil {
				return fmt.Errorf("namespace %s: %w", s.name, err)
			}
			if round >= warmUp {
				s.times = append(s.times, time.Since(start))
			}
		}
	}
	return nil
}

// write sets replicas as kubectl apply does, as a dry run, so that each write finds the same object. The error reports if the
// result is not the expected one.
func (s *space) write(ctx context.Context) error {
	web := &appsv1.Deployment{}
	web.Namespace, web.Name = s.name, workload
	patch := client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, manifestReplicas))
	if err := s.api.Patch(ctx, web, patch, client.DryRunAll, client.FieldOwner("kubectl-client-side-apply")); err != nil {
		return fmt.Errorf("patching the Deployment: %w", err)
	}
	want := int32(manifestReplicas)
	if s.guarded {
		want = scaledReplicas
	}
	if got := *web.Spec.Replicas; got != want {
		return fmt.Errorf("replicas: got %d, want %d", got, want)
	}
	return nil
}

func report(spaces []*space) (rows []table.Row) {
	plain, one, last := spaces[0], spaces[1], spaces[len(spaces)-1]
	for _, s := range spaces[1:] {
		rows = append(rows, table.Row{
			What:      fmt.Sprintf("guard, kept write, %d autoscalers", s.autoscalers),
			Handoff:   fmt.Sprintf("p50 %s, p99 %s, added %s", s.percentile(50), s.percentile(99), s.percentile(50)-plain.percentile(50)),
			Reference: fmt.Sprintf("p50 %s, p99 %s, namespace without the guard", plain.percentile(50), plain.percentile(99)),
			Ratio:     table.Ratio{Value: ratio(s, plain)},
			Target:    table.Ratio{Value: target},
		})
	}
	return append(rows, table.Row{
		What:      fmt.Sprintf("guard, growth from %d to %d autoscalers", one.autoscalers, last.autoscalers),
		Handoff:   fmt.Sprintf("p50 %s", last.percentile(50)),
		Reference: fmt.Sprintf("p50 %s, with %d", one.percentile(50), one.autoscalers),
		Ratio:     table.Ratio{Value: ratio(last, one)},
		Target:    table.Ratio{Value: growthTarget},
	})
}

func ratio(a, b *space) float64 { return float64(a.percentile(50)) / float64(b.percentile(50)) }

// percentile returns a percentile of the times, rounded for the table.
func (s *space) percentile(p int) time.Duration {
	sorted := slices.Sorted(slices.Values(s.times))
	return sorted[(len(sorted)-1)*p/100].Round(10 * time.Microsecond)
}
