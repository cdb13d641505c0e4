package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

func (r Reader) surveyCluster(ctx context.Context, s *Survey, w who) error {
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
	s.facts = newFacts(c.cluster, w)
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
