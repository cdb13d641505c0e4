package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ownership-handoff/handoff/test/objects"
)

const (
	// appliers is the number of concurrent appliers, each of which has its own workload.
	appliers = 2
	// margin is how long the stream runs before and after the step under test.
	margin = 3 * time.Second
	// leastApplies is how many applies must have run. On a busy machine, the stream runs longer for that.
	leastApplies = 10
)

// manifest returns a manifest with replicas: 3; the autoscaler's minimum is 7. Each apply changes the image, so that each is a
// write. The pods are never scheduled: starting and stopping thousands of them would dominate the measurement.
func manifest(image int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      schedulerName: nobody
      containers: [{name: web, image: "registry.invalid/web:%d", resources: {requests: {cpu: 1m}}}]
`, image)
}

// stream is a steady stream of applies to workloads that an autoscaler has scaled.
type stream struct {
	c      *cluster
	cancel context.CancelFunc
	done   sync.WaitGroup

	mutex                 sync.Mutex
	applies, failed, lost int
	failures              []error
}

// newStream creates the workloads, waits until they are scaled, and starts the applies.
func newStream(ctx context.Context, c *cluster) (*stream, error) {
	s := &stream{c: c}
	for i := range appliers {
		if err := s.workload(ctx, s.namespace(i)); err != nil {
			return nil, err
		}
		// Its namespace usually has the label by which the API server selects it, unless that could not call the webhook yet.
		label := `--for=jsonpath={.metadata.labels.ownership-handoff\.io/mode}=enforce`
		if _, err := s.c.kubectl(ctx, "wait", "namespace", s.namespace(i), label, "--timeout=1m"); err != nil {
			return nil, err
		}
	}
	ctx, s.cancel = context.WithCancel(ctx)
	for i := range appliers {
		s.done.Go(func() { s.applyOn(ctx, s.namespace(i)) })
	}
	time.Sleep(margin)
	return s, nil
}

func (s *stream) namespace(i int) string { return fmt.Sprintf("stream-%d", i) }

func (s *stream) workload(ctx context.Context, namespace string) error {
	if err := s.c.apply(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+
		", annotations: {ownership-handoff.io/mode: enforce}}}"); err != nil {
		return err
	}
	for _, manifest := range []string{manifest(0), objects.KEDAAutoscaler} {
		if err := s.c.apply(ctx, manifest, "--namespace", namespace); err != nil {
			return err
		}
	}
	_, err := s.c.kubectl(ctx, "wait", "deployment", "web", "--namespace", namespace, "--for=jsonpath={.spec.replicas}=7", "--timeout=1m")
	return err
}

// applyOn applies repeatedly. It takes the stored replicas from the response, because the autoscaler may correct them later.
func (s *stream) applyOn(ctx context.Context, namespace string) {
	for image := 1; ctx.Err() == nil; image++ {
		stored, err := command(ctx, manifest(image), s.c.controlPlane.Kubectl, "apply", "-f", "-", "--namespace", namespace,
			"-o", "jsonpath={.spec.replicas}")
		if ctx.Err() != nil {
			return // the apply was interrupted: do not count it
		}
		s.count(strings.TrimSpace(stored), err)
	}
}

func (s *stream) count(stored string, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.applies++
	switch {
	case err != nil:
		s.failed++
		s.failures = append(s.failures, err)
	case stored != "7":
		s.lost++
		at := time.Now().Format(time.TimeOnly)
		s.failures = append(s.failures, fmt.Errorf("apply %d, at %s, stored replicas: %s", s.applies, at, stored))
	}
}

// stop stops the stream and deletes its namespaces.
func (s *stream) stop(ctx context.Context) error {
	time.Sleep(margin)
	enough := eventually(ctx, fmt.Sprintf("%d applies have run", leastApplies), time.Minute, func() (bool, error) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return s.applies >= leastApplies, nil
	})
	s.cancel()
	s.done.Wait()
	for i := range appliers {
		if _, err := s.c.kubectl(ctx, "delete", "namespace", s.namespace(i), "--wait=true"); err != nil {
			return errors.Join(enough, err)
		}
	}
	return enough
}

// result returns the number of applies and of their failures, and an error unless all applies succeeded and kept the replicas.
func (s *stream) result() (figures string, err error) {
	figures = fmt.Sprintf("%d applies, %d failed, %d lost replicas", s.applies, s.failed, s.lost)
	if s.failed+s.lost > 0 {
		err = fmt.Errorf("%s: %w", figures, errors.Join(s.failures[:min(5, len(s.failures))]...))
	}
	return figures, err
}
