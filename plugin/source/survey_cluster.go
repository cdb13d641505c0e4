package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type clusterSurvey struct {
	survey    *Survey
	cluster   *cluster
	served    *servedKinds
	surveyed  []resourceKind
	whole     map[schema.GroupKind]bool
	namespace string // empty for all
}

func (r Reader) surveyCluster(ctx context.Context, s *Survey) error {
	namespace, _, err := r.Cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return Advise(err, "")
	}
	if s.query.AllNamespaces {
		namespace = ""
	}
	c := clusterSurvey{survey: s, namespace: namespace, whole: map[schema.GroupKind]bool{}}
	if c.cluster, err = newCluster(r.Cluster); err != nil {
		return Advise(err, "")
	}
	if s.facts, err = newFacts(c.cluster, r.Configuration); err != nil {
		return err
	}
	if c.served, err = c.cluster.kinds(); err != nil {
		return Advise(err, "")
	}
	if c.surveyed, err = c.served.chosen(r.Cluster, s.query.Objects); err != nil {
		return Advise(err, "")
	}
	for group := range c.served.unknown {
		s.gap("unknown resources in API group %s, because its API server does not respond; "+
			"see kubectl get apiservices", group)
	}
	isNamed := func(kind schema.GroupKind) bool {
		return slices.ContainsFunc(c.surveyed, func(k resourceKind) bool { return k.gvk.GroupKind() == kind })
	}
	if err := s.readScalers(ctx, namespace, isNamed); err != nil {
		return err
	}
	for _, kind := range s.scalers.unread {
		if !c.served.unknown[kind.group] { // which is a gap already
			s.gap("unknown which objects %ss target; %s", kind.name, kind.read.remedy)
		}
	}
	s.Each = c.each
	return nil
}

// each reads the lists, and then the targets of autoscalers that the lists do not contain.
func (c *clusterSurvey) each(ctx context.Context, visit Visit) error {
	var first error
	var forbidden []string
	for _, kind := range c.surveyed {
		read := false
		err := c.eachOf(ctx, kind, func(resource string, s Subject, left int64) error {
			read = true
			return visit(resource, s, left)
		})
		if read || err == nil {
			c.survey.Resources = append(c.survey.Resources, kind.String())
		}
		switch {
		case err == nil:
			c.whole[kind.gvk.GroupKind()] = c.survey.query.Selector == ""
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsForbidden(err):
			forbidden = append(forbidden, kind.String())
		default:
			c.survey.gap("%s: incomplete list: %v", kind, Advise(err, c.namespace))
		}
		if first == nil {
			first = err
		}
	}
	switch {
	case len(c.survey.Resources) > 0 || first == nil:
	case len(forbidden) < len(c.surveyed):
		return Advise(first, c.namespace)
	default:
		return fmt.Errorf("cannot list %s; ask for permission to list them %s", strings.Join(forbidden, ", "), where(c.namespace))
	}
	if len(forbidden) > 0 {
		c.survey.gap("%s were not audited; ask for permission to list them %s", strings.Join(forbidden, ", "), where(c.namespace))
	}
	return c.settle(ctx, visit)
}

func (c *clusterSurvey) eachOf(ctx context.Context, kind resourceKind, visit Visit) error {
	return c.cluster.each(ctx, kind, c.namespace, c.survey.query.Selector, func(o *unstructured.Unstructured, left int64) error {
		subject, err := c.survey.subject(ctx, o, kind.String())
		if err != nil {
			return err
		}
		return visit(kind.String(), subject, left)
	})
}

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
