// Package soak plays a day of a cluster: two API servers before an etcd of three members, controllers that elect a leader, three
// pods of the webhook behind a Service, and clients that apply, scale and patch all the time, while one part after the other is
// broken. Books that share no code with the product know after each write what each field must be. `make soak` runs it for as long
// as you like; without flags, the test plays a few faults for the continuous integration.
package soak_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	durationFlag       = flag.Duration("duration", 0, "how long to play; 0 plays the faults of the continuous integration once")
	lengthFlag         = flag.Duration("length", 6*time.Second, "length of a fault, without the recovery")
	calmFlag           = flag.Duration("calm", 2*time.Second, "pause between faults")
	namespacesFlag     = flag.Int("namespaces", 6, "number of namespaces")
	writersFlag        = flag.Int("writers", 3, "number of clients that apply at the same time")
	thinkFlag          = flag.Duration("think", 50*time.Millisecond, "mean pause of a writer")
	programsFlag       = flag.Int("programs", 30, "one of so many applies is sent by the real kubectl or Helm")
	faultsFlag         = flag.String("faults", "", "play only faults whose name contains one of these texts, separated by commas")
	brokenFlag         = flag.Int("broken", 2, "number of broken builds that the books must find, if -duration is 0")
	webhookFlag        = flag.String("webhook", "", "the webhook's binary (default bin/handoff-webhook)")
	otherFlag          = flag.String("other", "", "another version of the webhook, for the upgrade (default this one with another version number)")
	otherAPIServerFlag = flag.String("other-apiserver", "", "a kube-apiserver of another version, for the upgrade of one of the two")
)

// ciFaults are played without -duration: the most important ones that recover within seconds.
const ciFaults = "a webhook pod killed,certificate swapped,configuration reloaded"

func TestSoak(t *testing.T) {
	s, all := newStage(t), chosen()
	s.prepare(all)
	r := s.play(func(ctx context.Context, r *report) { s.playFaults(ctx, r, all) })
	r.print(os.Stderr)
	for _, v := range r.Violations {
		t.Error(v)
	}
	if r.Kept < 50 || r.Writes < 2*r.Kept || r.Compared < 50 || r.AtTheEnd == 0 || len(all) <= strings.Count(*faultsFlag, ",") {
		t.Errorf("%d writes, %d kept, %d compared, %d at the end, %d faults: the soak has tested little", r.Writes, r.Kept, r.Compared, r.AtTheEnd, len(all))
	}
	if *durationFlag == 0 && *brokenFlag > 0 {
		if s.plane.HasMutatingPolicies() {
			s.catchBrokenGuard()
		}
		s.catchDuringFaults(all)
		s.catchBrokenBuilds(*brokenFlag)
	}
}

// chosen returns the faults to play.
func chosen() faults {
	names := *faultsFlag
	if names == "" && *durationFlag == 0 {
		names = ciFaults
	}
	return slices.DeleteFunc(catalog(), func(f *fault) bool {
		return !slices.ContainsFunc(strings.Split(names, ","), func(name string) bool { return strings.Contains(f.name, name) })
	})
}

// newStage starts a cluster with the webhook and all workloads.
func newStage(t *testing.T) *stage {
	t.Helper()
	audit, names := t.TempDir(), namespaces(*namespacesFlag)
	log, err := newAuditLog(t.Context(), audit)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{machine: newMachine(t, names, audit), history: &history{}, log: log}
	s.kubectl("{apiVersion: v1, kind: Namespace, metadata: {name: "+outside+"}}", "apply", "-f", "-")
	s.install(*webhookFlag)
	s.traffic = newTraffic(s.machine, newBooks(s.history), names, *programsFlag)
	s.probers = newProbers(s.machine, s.traffic.workloads[0])
	if _, ok := awaitRecovery(t.Context(), s.probers); !ok {
		t.Fatal("the webhook does not keep replicas")
	}
	return s
}

// play runs the traffic with new books while act does something else, and returns what the books say.
func (s *stage) play(act func(context.Context, *report)) *report {
	b := newBooks(s.history)
	for _, w := range s.traffic.workloads {
		b.know(w)
	}
	s.traffic.books.Store(b)
	r := &report{Machine: s.describe(), books: b, started: time.Now()}
	ctx, stop := context.WithCancel(s.Context())
	defer stop()
	var all sync.WaitGroup
	all.Go(func() { s.traffic.play(ctx, *writersFlag, *thinkFlag) })
	all.Go(func() { r.sample(ctx, s.machine) })
	judging, judged := context.WithCancel(context.WithoutCancel(ctx))
	var books sync.WaitGroup
	books.Go(func() { s.keepBooks(judging, b) })
	act(ctx, r)
	stop()
	all.Wait()
	time.Sleep(lag) // the autoscalers have settled
	stored := &unstructured.UnstructuredList{}
	stored.SetAPIVersion("apps/v1")
	stored.SetKind("DeploymentList")
	s.must(s.traffic.api.List(s.Context(), stored))
	judged()
	books.Wait()
	b.finish(stored.Items)
	r.close()
	return r
}

// keepBooks records the writes in the audit log until the context has ended and every write is in it.
func (s *stage) keepBooks(ctx context.Context, b *books) {
	for ; ctx.Err() == nil; wait(ctx, 500*time.Millisecond) {
		b.recordAll(s.log.take(lag))
	}
	time.Sleep(lag) // the last writes
	b.recordAll(s.log.take(0))
}

// playFaults plays each fault without the guard, then random pairs with it, until the time is over.
func (s *stage) playFaults(ctx context.Context, r *report, all faults) {
	s.Helper()
	wait(ctx, *lengthFlag) // calm
	for _, f := range all {
		if *durationFlag > 0 && time.Since(r.started) > *durationFlag {
			return
		}
		s.playTogether(ctx, r, faults{f})
	}
	if !s.plane.HasMutatingPolicies() || len(all) < 2 {
		return
	}
	s.must(s.setGuard(ctx, true))
	calm := min(steady, *durationFlag/8)
	for once := true; once || time.Since(r.started) < *durationFlag-calm; once = false {
		i := rand.IntN(len(all))
		j := (i + 1 + rand.IntN(len(all)-1)) % len(all)
		s.playTogether(ctx, r, faults{all[min(i, j)], all[max(i, j)]})
	}
	wait(ctx, calm)
	s.must(s.setGuard(ctx, false))
}

// playTogether plays faults at the same time, and waits until the cluster has recovered.
func (s *stage) playTogether(ctx context.Context, r *report, together faults) {
	s.history.begin(together)
	limited, cancel := context.WithTimeout(ctx, *lengthFlag)
	defer cancel()
	repaired := time.Now().Add(*lengthFlag) // from now on
	context.AfterFunc(limited, func() {
		for _, p := range s.probers {
			p.reset()
		}
	})
	ended := make(chan error, len(together))
	for _, f := range together {
		go func() { ended <- f.play(limited, s) }()
	}
	for range together {
		if err := <-ended; err != nil {
			r.books.hindered(together, err)
		}
	}
	if err := s.startDead(ctx); err != nil {
		r.books.note("%s: %v", together.name(), err)
	}
	at, ok := awaitRecovery(ctx, s.probers)
	s.history.end()
	if !ok {
		r.books.note("%s: not recovered after %v", together.name(), patience)
	}
	took := max(0, at.Sub(repaired))
	r.recovered(together, took)
	fmt.Fprintf(os.Stderr, "soak: %s %s: recovered after %.1f s\n", time.Now().Format(time.TimeOnly), together.name(), took.Seconds())
	wait(ctx, *calmFlag)
}

// startDead starts what a fault has left dead: an API server ends if etcd is away for long, and a pod if another fault hinders its start.
func (s *stage) startDead(ctx context.Context) error {
	ctx, cancel := repairing(ctx)
	defer cancel()
	var failures []error
	for _, each := range slices.Concat(s.etcds, s.apis) {
		if !isRunning(each.PID) {
			failures = append(failures, each.restart(ctx))
		}
	}
	for _, p := range s.pods {
		failures = append(failures, p.start(ctx))
	}
	return errors.Join(failures...)
}

// describe returns the size of the cluster.
func (s *stage) describe() string {
	return fmt.Sprintf("Kubernetes %s, %d API servers, %d etcd members, %d webhook pods, %d namespaces, %d workloads, %d writers",
		s.plane.Version(), len(s.apis), len(s.etcds), replicas, *namespacesFlag, len(s.traffic.workloads), *writersFlag)
}
