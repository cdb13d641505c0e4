package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/recorder"
)

const (
	// patience is how long a controller may take for anything.
	patience = 90 * time.Second
	// rest is how long nobody may have written an object for its controllers to be done with it.
	rest = time.Second
)

// stage is the namespace that a recording is played in.
type stage struct {
	ctx       context.Context //nolint:containedctx // a stage lives as long as one recording
	plane     *controlplane.Plane
	recorder  *recorder.Recorder
	api       client.Client
	namespace string
	// resource is what the recording writes: KIND/NAME, as kubectl has it.
	resource string
}

func newStage(ctx context.Context, plane *controlplane.Plane, r *recorder.Recorder, namespace string) (*stage, error) {
	api, err := client.New(plane.Config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	s := &stage{ctx: ctx, plane: plane, recorder: r, api: api, namespace: namespace}
	if err := s.run("", nil, "create", "namespace", namespace); err != nil {
		return nil, err
	}
	return s, nil
}

// play plays a recording and returns the review of its write.
func (s *stage) play(recording recording) ([]byte, error) {
	s.resource = recording.resource
	for _, step := range recording.before {
		if err := step(s); err != nil {
			return nil, err
		}
		if err := s.settled(); err != nil {
			return nil, err
		}
	}
	before := s.recorder.Count(s.namespace)
	if err := recording.write(s); err != nil {
		return nil, err
	}
	reviews := s.recorder.Reviews(s.namespace)[before:]
	// A write that meets another on its way is admitted again, against another live object: not to be repeated.
	if len(reviews) != 1 {
		return nil, fmt.Errorf("want one review of the write, got %d", len(reviews))
	}
	if size := len(reviews[0]); recording.size != nil && !recording.size(size) {
		return nil, fmt.Errorf("the review has %d bytes, which is not what the recording is for", size)
	}
	return reviews[0], nil
}

// run runs kubectl, which must succeed.
func (s *stage) run(stdin string, env []string, args ...string) error {
	_, err := s.output(stdin, env, args...)
	return err
}

func (s *stage) output(stdin string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(s.ctx, s.plane.Kubectl, append([]string{"--namespace", s.namespace}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// object reads what the recording writes.
func (s *stage) object() (*unstructured.Unstructured, error) {
	text, err := s.output("", nil, "get", s.resource, "-o", "json", "--show-managed-fields")
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.resource, err)
	}
	return object, nil
}

// settled waits until the controllers have written all that they have to write, so that a recording has the same status
// whenever it is made.
func (s *stage) settled() error {
	last, since := "", time.Now()
	return s.eventually("the controllers are done", func() (bool, error) {
		object, err := s.object()
		if err != nil {
			return false, err
		}
		if last != object.GetResourceVersion() {
			last, since = object.GetResourceVersion(), time.Now()
		}
		return observed(object) && time.Since(since) > rest, nil
	})
}

// observed says whether an object's status, where controllers keep one, is of its present spec.
func observed(object *unstructured.Unstructured) bool {
	if object.GroupVersionKind().Group != "apps" {
		return true
	}
	seen, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	pods, _, _ := unstructured.NestedInt64(object.Object, "status", "replicas")
	want, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
	// Without nodes no pod gets ready: a rollout stays at its first new pods, and a stateful set at its first.
	return seen == object.GetGeneration() && (pods >= want || object.GetKind() == "StatefulSet")
}

func (s *stage) eventually(what string, done func() (bool, error)) error {
	poll := func(context.Context) (bool, error) { return done() }
	if err := wait.PollUntilContextTimeout(s.ctx, 200*time.Millisecond, patience, true, poll); err != nil {
		return fmt.Errorf("wait until %s: %w", what, err)
	}
	return nil
}
