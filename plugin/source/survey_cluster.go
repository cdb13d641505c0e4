package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
func (c *clusterSurvey) each(ctx context.Context, visit func(Page) error) error {
	var first error
	var forbidden []string
	read := false
	for _, kind := range c.surveyed {
		err := c.eachOf(ctx, kind, func(page Page) error {
			read = true
			return visit(page)
		})
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
	case read || first == nil:
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

func (c *clusterSurvey) eachOf(ctx context.Context, kind resourceKind, visit func(Page) error) error {
	field, err := c.survey.facts.scaleOf(ctx, kind.gvk)
	if err != nil {
		return err
	}
	of := list{path: kind.path(c.namespace), selector: c.survey.query.Selector}
	err = c.cluster.lister.each(ctx, of, func(page listed) error {
		to := Page{Resource: kind.String(), Left: page.left, Subjects: make([]Subject, 0, len(page.items))}
		for _, item := range page.items {
			subject, err := c.subject(kind.gvk, item, field)
			if err != nil {
				return err
			}
			to.Subjects = append(to.Subjects, subject)
		}
		return visit(to)
	})
	if err == nil && field.gap != "" {
		c.survey.gap("%s: %s", kind, field.gap)
	}
	return err
}

// subject returns the subject of a list item, which does not contain its kind.
func (c *clusterSurvey) subject(kind schema.GroupVersionKind, item []byte, field scaleField) (Subject, error) {
	subject, err := c.survey.facts.who.subject(kind, "", "", item)
	if err != nil {
		return subject, err
	}
	subject.Namespace, subject.Name = stringAt(subject.Object, "metadata", "namespace"), stringAt(subject.Object, "metadata", "name")
	c.survey.complete(&subject, field)
	return subject, nil
}
