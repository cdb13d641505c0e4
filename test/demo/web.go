package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is the timeout for anything that another process does.
const patience = 30 * time.Second

// state is what one version of the Deployment contains about its replicas.
type state struct {
	resourceVersion string
	replicas        int32
	owner           string // the managers of .spec.replicas in managedFields
	lastApplied     string // the replicas in the last-applied annotation
}

// noReplicas is lastApplied without replicas in the annotation.
const noReplicas = "no replicas"

// stateOf reads the object itself, without code of handoff: the demo must not use handoff to judge handoff.
func stateOf(o *appsv1.Deployment) (state, error) {
	s := state{resourceVersion: o.ResourceVersion, replicas: *o.Spec.Replicas, owner: "none", lastApplied: noReplicas}
	var owners []string
	for _, entry := range o.ManagedFields {
		var set struct {
			Spec map[string]any `json:"f:spec"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set); err != nil {
			return s, fmt.Errorf("managedFields of %s: %w", entry.Manager, err)
		}
		if _, ok := set.Spec["f:replicas"]; ok {
			how := strings.TrimSuffix(string(entry.Operation)+", "+entry.Subresource, ", ")
			owners = append(owners, fmt.Sprintf("%s (%s)", entry.Manager, how))
		}
	}
	if owners != nil {
		s.owner = strings.Join(owners, " and ")
	}
	var manifest appsv1.Deployment
	if text, ok := o.Annotations[corev1.LastAppliedConfigAnnotation]; ok {
		if err := json.Unmarshal([]byte(text), &manifest); err != nil {
			return s, fmt.Errorf("parsing the last-applied annotation: %w", err)
		}
	}
	if manifest.Spec.Replicas != nil {
		s.lastApplied = "replicas " + strconv.Itoa(int(*manifest.Spec.Replicas))
	}
	return s, nil
}

// web reads the current and previous versions of the Deployment web.
type web struct{ api client.WithWatch }

func (w web) live(ctx context.Context) (*appsv1.Deployment, state, error) {
	o := &appsv1.Deployment{}
	if err := w.api.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, o); err != nil {
		return nil, state{}, fmt.Errorf("reading the Deployment: %w", err)
	}
	s, err := stateOf(o)
	return o, s, err
}

// lowest returns the version with the fewest replicas among those stored after the given version, the latest of several. If
// nothing was stored, it returns the given version.
//
// It reads every version and not only the last: the autoscaler may restore the replicas before the demo reads the object.
func (w web) lowest(ctx context.Context, after state) (state, error) {
	_, last, err := w.live(ctx)
	if err != nil || last.resourceVersion == after.resourceVersion {
		return last, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	events, err := w.api.Watch(ctx, &appsv1.DeploymentList{}, &client.ListOptions{
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
		o, ok := event.Object.(*appsv1.Deployment)
		if !ok {
			return state{}, fmt.Errorf("watching the Deployment: %s: %v", event.Type, event.Object)
		}
		s, err := stateOf(o)
		if err != nil || s.resourceVersion == last.resourceVersion {
			return lowest, err
		}
		if s.replicas < lowest.replicas || (s.replicas == lowest.replicas && lowest != last) {
			lowest = s
		}
	}
	return state{}, errors.New("watching the Deployment: the watch ended before the last version")
}

// settled waits until the Deployment's controllers have stopped writing its status, and returns its state.
func (w web) settled(ctx context.Context) (state, error) {
	const rest = 400 * time.Millisecond
	var last state
	since := time.Now()
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		o, s, err := w.live(ctx)
		if err != nil {
			return false, err
		}
		if s != last {
			last, since = s, time.Now()
		}
		written := o.Status.ObservedGeneration == o.Generation &&
			o.Status.Replicas == s.replicas && o.Status.UpdatedReplicas == s.replicas
		return written && time.Since(since) > rest, nil
	})
	if err != nil {
		return last, fmt.Errorf("waiting until the controllers are done: %w", err)
	}
	return last, nil
}

func poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, done)
}

// pollOr is poll for a result that is checked afterwards: a timeout is no error.
func pollOr(ctx context.Context, done wait.ConditionWithContextFunc) error {
	if err := poll(ctx, done); !wait.Interrupted(err) || ctx.Err() != nil {
		return err
	}
	return nil
}
