package accepted_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestAppliesDifferFromThoseWithoutHandoffOnlyInKeptFields runs generated sequences.
func TestAppliesDifferFromThoseWithoutHandoffOnlyInKeptFields(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano() % 1_000_000)
	}
	t.Logf("seed %d: -sequences=%d -seed=%d", seed, *sequencesFlag, seed)
	run := &runner{seed: seed, schemas: newSchemas(), counts: newCounts(), classes: map[string]*failure{}}
	run.all(t)
	t.Log(run.counts)
	for _, f := range run.sorted() {
		t.Errorf("%s\n%s", f.first.class(), f)
	}
	if *failuresFlag != "" {
		run.write(t, *failuresFlag)
	}
	if *onlyFlag < 0 && *kindFlag == "" && *sequencesFlag >= 200 {
		run.counts.wantEnough(t)
	}
	wantNoFailOpen(t)
}

// failure is a class of findings with the minimized script of its first finding.
type failure struct {
	first  finding
	index  int
	times  int
	kinds  map[string]int
	script script
}

func (f *failure) String() string {
	return fmt.Sprintf("%d times, in %v; first -only=%d: %s\n%s", f.times, f.kinds, f.index, f.first.text, f.script)
}

// runner runs sequences concurrently.
type runner struct {
	seed    uint64
	schemas schemas
	counts  *counts

	mutex   sync.Mutex
	classes map[string]*failure
}

func (r *runner) all(t *testing.T) {
	t.Helper()
	indexes := make(chan int)
	var workers sync.WaitGroup
	for range *workersFlag {
		workers.Go(func() {
			for i := range indexes {
				if err := r.one(t.Context(), i); err != nil {
					t.Errorf("sequence %d: %v", i, err)
				}
			}
		})
	}
	for i := range *sequencesFlag {
		if *onlyFlag < 0 || *onlyFlag == i {
			indexes <- i
		}
	}
	close(indexes)
	workers.Wait()
}

func (r *runner) one(ctx context.Context, index int) error {
	all := kinds()
	k := all[index%len(all)]
	if *kindFlag != "" && k.gvk.Kind != *kindFlag {
		return nil
	}
	s, found, err := sequence(ctx, r.schemas, k, r.seed, index, r.counts)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, s)
	}
	for _, f := range found {
		r.report(ctx, index, s, f)
	}
	return nil
}

func (r *runner) report(ctx context.Context, index int, s script, f finding) {
	r.mutex.Lock()
	known, ok := r.classes[f.class()]
	if !ok {
		known = &failure{first: f, index: index, kinds: map[string]int{}, script: s}
		r.classes[f.class()] = known
	}
	known.times++
	known.kinds[s.kind.gvk.Kind]++
	r.mutex.Unlock()
	if ok || !*shrinkFlag {
		return
	}
	small := s.smaller(ctx, r.schemas, f.class(), fmt.Sprintf("s%d-%d", index, len(f.class())))
	r.mutex.Lock()
	known.script = small
	r.mutex.Unlock()
}

func (r *runner) sorted() []*failure {
	classes := slices.Sorted(maps.Keys(r.classes))
	all := make([]*failure, 0, len(classes))
	for _, class := range classes {
		all = append(all, r.classes[class])
	}
	return all
}

func (r *runner) write(t *testing.T, file string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d sequences\n\n%s\n", r.seed, *sequencesFlag, r.counts)
	for _, f := range r.sorted() {
		fmt.Fprintf(&b, "## %s\n%s\n", f.first.class(), f)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Error(err)
	}
}

// unexpected returns the error unless it is the rejection of an object.
func unexpected(err error) error {
	if err == nil || errors.Is(err, errNoChange) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsInternalError(err) || strings.Contains(err.Error(), "exit status") {
		return nil
	}
	return err
}

// wantNoFailOpen fails the test if the API server has failed open, because these writes were not tested.
func wantNoFailOpen(t *testing.T) {
	t.Helper()
	metrics, err := metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "apiserver_admission_webhook_fail_open_count{") {
			t.Errorf("the API server failed open: %s", line)
		}
	}
}
