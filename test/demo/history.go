package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is the timeout for anything that another process does.
const patience = 30 * time.Second

// history reads the current and previous versions of the Deployment web.
type history struct{ api client.WithWatch }

func (h history) live(ctx context.Context) (*appsv1.Deployment, state, error) {
	web := &appsv1.Deployment{}
	if err := h.api.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, web); err != nil {
		return nil, state{}, fmt.Errorf("reading the Deployment: %w", err)
	}
	s, err := stateOf(web)
	return web, s, err
}

// lowest returns the version with the fewest replicas among those stored after the given version, the latest of several. If
// nothing was stored, it returns the given version.
//
// It reads every version and not only the last: the autoscaler may restore the replicas before the demo reads the object.
func (h history) lowest(ctx context.Context, after state) (state, error) {
	_, last, err := h.live(ctx)
	if err != nil || last.resourceVersion == after.resourceVersion {
		return last, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	events, err := h.api.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace("shop"), &client.ListOptions{
		Namespace:     "shop",
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, "web"),
		Raw:           &metav1.ListOptions{ResourceVersion: after.resourceVersion},
	})
	if err != nil {
		return state{}, fmt.Errorf("watching the Deployment: %w", err)
	}
	defer events.Stop()
	lowest := last
	for event := range events.ResultChan() {
		s, err := stateIn(event)
		if err != nil {
			return state{}, err
		}
		if s.resourceVersion == last.resourceVersion {
			return lowest, nil
		}
		if s.replicas < lowest.replicas || (s.replicas == lowest.replicas && lowest != last) {
			lowest = s
		}
	}
	return state{}, errors.New("watching the Deployment: the watch ended before the last version")
}

func stateIn(event watch.Event) (state, error) {
	web, ok := event.Object.(*appsv1.Deployment)
	if !ok {
		return state{}, fmt.Errorf("watching the Deployment: %s: %v", event.Type, event.Object)
	}
	return stateOf(web)
}

// settled waits until the Deployment's controllers have stopped writing its status, and returns its state.
func (h history) settled(ctx context.Context) (state, error) {
	const rest = 400 * time.Millisecond
	var last state
	since := time.Now()
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		web, s, err := h.live(ctx)
		if err != nil {
			return false, err
		}
		if s != last {
			last, since = s, time.Now()
		}
		written := web.Status.ObservedGeneration == web.Generation &&
			web.Status.Replicas == s.replicas && web.Status.UpdatedReplicas == s.replicas
		return written && time.Since(since) > rest, nil
	})
	if err != nil {
		return last, fmt.Errorf("waiting until the controllers are done: %w", err)
	}
	return last, nil
}

// reached waits until the Deployment has the given number of replicas and returns its state then, or at the timeout.
func (h history) reached(ctx context.Context, replicas int32) (state, error) {
	var last state
	err := poll(ctx, func(context.Context) (_ bool, err error) {
		_, last, err = h.live(ctx)
		return last.replicas == replicas, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return last, nil
	}
	return last, err
}

func poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, done)
}
