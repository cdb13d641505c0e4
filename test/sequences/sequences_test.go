package sequences_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// TestScenarios plays those of the grammar.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for i, c := range cluster.scenarios {
		for j, s := range c.scripts(cluster.kinds) {
			t.Run(fmt.Sprintf("%d by %s", i, c.By[j]), func(t *testing.T) {
				t.Parallel()
				counts := newCounts()
				_, found, err := s.replay(t.Context(), fmt.Sprintf("c%d-%d", i, j), counts)
				if err != nil {
					t.Error(err)
				}
				for _, f := range found {
					t.Errorf("## %s\n%s", f.class(), f.text)
				}
				expect.Equal(t, "writes are refused because of a keep", c.Refused, counts.of["writes "+refusedKeep] > 0)
				if refused := counts.of["writes "+refusedAnyway]; refused > 0 {
					t.Errorf("%d writes refused without handoff, too: the scenario tests less than it seems", refused)
				}
				if t.Failed() {
					t.Log(s)
				}
			})
		}
	}
}

// TestWritesDifferFromThoseWithoutHandoffOnlyInNamedFields plays generated sequences.
func TestWritesDifferFromThoseWithoutHandoffOnlyInNamedFields(t *testing.T) {
	all := readTotals(t)
	seed, first := all.next(*seedFlag, *firstFlag)
	t.Logf("seed %d: -sequences=%d -first=%d -seed=%[1]d", seed, *sequencesFlag, first)
	run := &runner{seed: seed, first: first, counts: newCounts(), classes: map[string]*failure{}}
	run.all(t)
	t.Log(run.counts)
	for _, class := range slices.Sorted(maps.Keys(run.classes)) {
		f := run.classes[class]
		f.script = f.script.shrunk(t.Context(), fmt.Sprintf("s%d", f.index), class)
		t.Errorf("## %s\n%d times, in %v; first -only=%d: %s\n%s", class, f.times, f.kinds, f.index, f.first.text, f.script)
	}
	if *onlyFlag < 0 && *kindFlag == "" && *sequencesFlag >= 24 {
		run.counts.wantEnough(t)
	}
	wantNoFailOpen(t)
	all.add(t, run)
}

// failure is a class of findings with the script of its first finding.
type failure struct {
	first  finding
	index  int
	times  int
	kinds  map[string]int
	script script
}

// runner plays sequences concurrently.
type runner struct {
	seed   uint64
	first  int
	counts *counts

	mutex   sync.Mutex
	classes map[string]*failure
}

func (r *runner) all(t *testing.T) {
	t.Helper()
	indexes, uncompared := make(chan int), atomic.Int32{}
	var workers sync.WaitGroup
	for range *workersFlag {
		workers.Go(func() {
			for i := range indexes {
				switch err := r.one(t.Context(), i); {
				case errors.Is(err, errNotCopied):
					t.Logf("sequence %d: %v", i, err)
					uncompared.Add(1)
				case err != nil:
					t.Errorf("sequence %d: %v", i, err)
				}
			}
		})
	}
	for i := r.first; i < r.first+*sequencesFlag; i++ {
		if *onlyFlag < 0 || *onlyFlag == i {
			indexes <- i
		}
	}
	close(indexes)
	workers.Wait()
	if n := int(uncompared.Load()); n*10 > *sequencesFlag {
		t.Errorf("%d of %d sequences end before all of their steps are compared: want at most one of ten", n, *sequencesFlag)
	}
}

func (r *runner) one(ctx context.Context, index int) error {
	k := cluster.kinds[index%len(cluster.kinds)]
	if *kindFlag != "" && k.Kind != *kindFlag {
		return nil
	}
	s, found, err := sequence(ctx, k, r.seed, index, r.counts)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, s)
	}
	for _, f := range found {
		r.report(index, s, f)
	}
	return nil
}

func (r *runner) report(index int, s script, f finding) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	known, ok := r.classes[f.class()]
	if !ok {
		known = &failure{first: f, index: index, kinds: map[string]int{}, script: s}
		r.classes[f.class()] = known
	}
	known.times++
	known.kinds[s.kind.Kind]++
}

// counts are the numbers of writes and results of the sequences.
type counts struct {
	mutex sync.Mutex
	of    map[string]int
}

const (
	refusedKeep   = "refused with a warning that names the kept field"
	refusedAnyway = "refused also without handoff"
)

func newCounts() *counts { return &counts{of: map[string]int{}} }

func (c *counts) observed(k *kind, o observation) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	result := "accepted"
	switch {
	case o.answer.err != nil && o.twinErr != nil:
		result = refusedAnyway
	case o.answer.err != nil:
		result = refusedKeep
		c.of["refused because of a keep: "+general(rule(o.answer.err))]++
	case o.twinErr != nil:
		result = "accepted because of a keep or a cleared default"
	}
	for _, name := range []string{"writes", "writes " + result, o.step.verb + " by " + o.step.by, k.Kind + " " + result} {
		c.of[name]++
	}
	if o.answer.command != "" {
		c.of["by the real kubectl"]++
		c.of["kubectl "+o.answer.command]++
	}
	for _, p := range o.named {
		switch {
		case p == scaleField:
			p = "the scale field"
		case k.isRuled(p):
			p = "ruled fields"
		case o.answer.err == nil:
			p = "units, such as " + general(p)
		}
		c.of["kept"]++
		c.of["kept: "+p]++
	}
	for _, verb := range []string{"cleared", "not kept", "removed", "allowed"} {
		c.of[verb] += len(o.names(verb))
	}
}

// wantEnough fails the test if the sequences contain too few writes of a type for meaningful checks.
func (c *counts) wantEnough(t *testing.T) {
	t.Helper()
	least := func(name string, want int) {
		if c.of[name] < want {
			t.Errorf("%s: %d, want at least %d", name, c.of[name], want)
		}
	}
	n := c.of["writes"]
	least("by the real kubectl", map[bool]int{true: n / 10}[*kubectlFlag])
	for _, k := range cluster.kinds {
		least(k.Kind+" accepted", n/100)
	}
	for _, name := range []string{"apply by " + clientSide, "apply --server-side by " + kubectl, "apply --server-side by " + platform, "helm upgrade by " + helm,
		"edit by " + tuner, "scale by " + autoscaler, "replace by kubectl-replace", "kept: the scale field", "kept: ruled fields"} {
		least(name, n/500)
	}
	least("kept", n/50)
	for _, name := range []string{"apply", "apply --server-side", "create", "replace", "patch", "edit", "scale", "label", "annotate", "delete", "set image", "set env",
		"set resources", "set serviceaccount", "rollout restart", "rollout pause", "rollout resume"} {
		least("kubectl "+name, c.of["by the real kubectl"]/5000)
	}
	if refused, all := c.of["writes "+refusedAnyway], c.of["writes"]; refused > all/3 {
		t.Errorf("%d of %d writes are refused without handoff: too many for a meaningful test", refused, all)
	}
}

func (c *counts) String() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.of)) {
		fmt.Fprintf(&b, "%6d %s\n", c.of[name], name)
	}
	return b.String()
}

// wantNoFailOpen fails the test if the API server has failed open, because these writes were not tested.
func wantNoFailOpen(t *testing.T) {
	t.Helper()
	metrics := process.Run(t.Context(), nil, "", cluster.controlPlane.Kubectl, "get", "--raw", "/metrics")
	if failed := handofftest.Sum(metrics.Stdout, "apiserver_admission_webhook_fail_open_count", "ownership-handoff"); metrics.Err != nil || failed > 0 {
		t.Errorf("the API server failed open for %v writes: %v", failed, metrics.Err)
	}
}
