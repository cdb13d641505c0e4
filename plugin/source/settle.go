package source

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fewTargets is the maximum number of targets of a kind to get one by one. For more, the kind is listed.
const fewTargets = 20

// settle determines whether the targets exist that no list contained. If a kind was listed completely without a target, the
// target is missing, because the autoscalers were listed first.
func (c *clusterSurvey) settle(ctx context.Context, visit Visit) error {
	open := map[schema.GroupKind][]int{}
	for i := range c.survey.Autoscalers {
		a := &c.survey.Autoscalers[i]
		if _, served := c.served.of(a.Target); a.Presence != NotKnown || !served || !a.Chosen {
			continue
		}
		if c.whole[a.Target] {
			a.Presence = Missing
			continue
		}
		open[a.Target] = append(open[a.Target], i)
	}
	for target, all := range open {
		kind, _ := c.served.of(target)
		look := isReplicaSet(target) && len(c.survey.query.Objects) == 0 && c.survey.query.Selector == ""
		var err error
		if look || len(all) <= fewTargets {
			err = c.getTargets(ctx, kind, all, look, visit)
		} else {
			err = c.listTargets(ctx, kind, all)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsForbidden(err):
			c.survey.gap("unknown whether the %s exist that %d autoscalers target; ask for permission to get and list them %s",
				kind, len(all), where(c.namespace))
		case err != nil:
			return fmt.Errorf("%s: %w", kind, Advise(err, c.namespace))
		}
	}
	return nil
}

// getTargets gets each target, and also visits it if look is set.
func (c *clusterSurvey) getTargets(ctx context.Context, kind resourceKind, all []int, look bool, visit Visit) error {
	for _, i := range all {
		a := &c.survey.Autoscalers[i]
		if a.Presence != NotKnown { // shared with another autoscaler
			continue
		}
		o, err := c.cluster.objects.Resource(kind.resource).Namespace(kind.in(a.Namespace)).Get(ctx, a.TargetName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			a.Presence = Missing
			continue
		case err != nil:
			return err
		}
		subject, err := c.survey.subject(ctx, o, kind.String())
		if err == nil && look {
			c.survey.Resources = append(c.survey.Resources, kind.String())
			err = visit(kind.String(), subject, -1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listTargets lists the metadata of a kind to find its targets.
func (c *clusterSurvey) listTargets(ctx context.Context, kind resourceKind, all []int) error {
	err := c.cluster.eachMetadata(ctx, kind, c.namespace, func(o *metav1.PartialObjectMetadata) {
		c.survey.found(target{o.Namespace, kind.gvk.GroupKind(), o.Name})
	})
	if err != nil {
		return err
	}
	for _, i := range all {
		if a := &c.survey.Autoscalers[i]; a.Presence == NotKnown {
			a.Presence = Missing
		}
	}
	return nil
}
