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
	// patience is the timeout for anything that a controller does.
	patience = 90 * time.Second
	// rest is the time without writes after which an object's controllers count as done.
	rest = time.Second
)

// stage is the namespace of a recording.
type stage struct {
	ctx          context.Context //nolint:containedctx // a stage exists only during one recording
	controlPlane *controlplane.ControlPlane
	recorder     *recorder.Recorder
	api          client.Client
	namespace    string
	// resource is the written object as KIND/NAME, in the syntax of kubectl.
	resource string
}

func newStage(
	ctx context.Context, controlPlane *controlplane.ControlPlane, r *recorder.Recorder, namespace string,
) (*stage, error) {
	api, err := client.New(controlPlane.Config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	s := &stage{ctx: ctx, controlPlane: controlPlane, recorder: r, api: api, namespace: namespace}
	if err := s.run("", nil, "create", "namespace", namespace); err != nil {
		return nil, err
	}
	return s, nil
}

// record runs a recording and returns the review of its write.
func (s *stage) record(recording recording) ([]byte, error) {
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
	// The API server reviews a write again if it conflicts with another one. Such a recording is not reproducible.
	if len(reviews) != 1 {
		return nil, fmt.Errorf("want one review of the write, got %d", len(reviews))
	}
	if size := len(reviews[0]); recording.size != nil && !recording.size(size) {
		return nil, fmt.Errorf("unexpected size of the review: %d bytes", size)
	}
	return reviews[0], nil
}

// run runs kubectl, and returns an error with its standard error if it fails.
func (s *stage) run(stdin string, env []string, args ...string) error {
	_, err := s.output(stdin, env, args...)
	return err
}

func (s *stage) output(stdin string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(s.ctx, s.controlPlane.Kubectl, append([]string{"--namespace", s.namespace}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// object reads the object that the recording writes.
func (s *stage) object() (*unstructured.Unstructured, error) {
	text, err := s.output("", nil, "get", s.resource, "-o", "json", "--show-managed-fields")
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.resource, err)
	}
	return object, nil
}

// settled waits until the controllers have stopped writing the object, so that every run records the same status.
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

// observed reports whether the status of an object is up to date with its spec. It returns true for kinds without such a status.
func observed(object *unstructured.Unstructured) bool {
	if object.GroupVersionKind().Group != "apps" {
		return true
	}
	seen, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	pods, _, _ := unstructured.NestedInt64(object.Object, "status", "replicas")
	want, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
	// Without nodes, no pod becomes ready: a rollout stops at its first new pods, and a StatefulSet at its first pod.
	return seen == object.GetGeneration() && (pods >= want || object.GetKind() == "StatefulSet")
}

func (s *stage) eventually(what string, done func() (bool, error)) error {
	poll := func(context.Context) (bool, error) { return done() }
	if err := wait.PollUntilContextTimeout(s.ctx, 200*time.Millisecond, patience, true, poll); err != nil {
		return fmt.Errorf("waiting until %s: %w", what, err)
	}
	return nil
}
