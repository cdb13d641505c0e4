package source

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// clusterSurvey is a survey of a cluster.
type clusterSurvey struct {
	survey    *Survey
	lister    lister
	facts     *clusterFacts
	served    servedKinds
	kinds     []resourceKind // to survey
	whole     map[schema.GroupKind]bool
	query     Query
	namespace string // empty for all
}

func (r Reader) surveyCluster(ctx context.Context, s *Survey, q Query) error {
	namespace, _, err := r.Cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return Advise(err, "")
	}
	if q.AllNamespaces {
		namespace = ""
	}
	c := clusterSurvey{survey: s, query: q, namespace: namespace, whole: map[schema.GroupKind]bool{}}
	if c.lister, err = newLister(r.Cluster); err != nil {
		return Advise(err, "")
	}
	if c.served, err = newServedKinds(r.Cluster); err != nil {
		return Advise(err, "")
	}
	if c.kinds, err = c.served.chosen(r.Cluster, q.Objects); err != nil {
		return Advise(err, "")
	}
	if c.facts, err = newClusterFacts(r.Cluster); err != nil {
		return Advise(err, "")
	}
	c.facts.served, c.facts.everywhere = &c.served, q.AllNamespaces
	for group := range c.served.unknown {
		s.gap("unknown resources in API group %s, because its API server does not respond; "+
			"see kubectl get apiservices", group)
	}
	if err := c.readAutoscalers(ctx); err != nil {
		return err
	}
	if err := c.readScalers(ctx); err != nil {
		return err
	}
	s.each = c.each
	return nil
}

// each reads the lists, and then the targets of autoscalers that the lists do not contain.
func (c *clusterSurvey) each(ctx context.Context, visit func(Page) error) error {
	var first error
	var forbidden []string
	read := false
	for _, kind := range c.kinds {
		err := c.eachOf(ctx, kind, func(page Page) error {
			read = true
			return visit(page)
		})
		switch {
		case err == nil:
			c.whole[kind.gvk.GroupKind()] = c.query.Selector == ""
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
	case len(forbidden) < len(c.kinds):
		return Advise(first, c.namespace)
	default:
		return fmt.Errorf("cannot list %s; ask for permission to list them %s", strings.Join(forbidden, ", "), c.where())
	}
	if len(forbidden) > 0 {
		c.survey.gap("%s were not audited; ask for permission to list them %s", strings.Join(forbidden, ", "), c.where())
	}
	return c.settle(ctx, visit)
}

func (c *clusterSurvey) eachOf(ctx context.Context, kind resourceKind, visit func(Page) error) error {
	scalePath, gap, err := c.scaleOf(ctx, kind)
	if err != nil {
		return err
	}
	of := list{path: kind.path(c.namespace), selector: c.query.Selector}
	err = c.lister.each(ctx, of, func(page listed) error {
		to := Page{Resource: kind.String(), Left: page.left, Subjects: make([]Subject, 0, len(page.items))}
		for _, item := range page.items {
			subject, err := c.subject(kind.gvk, item, scalePath)
			if err != nil {
				return err
			}
			to.Subjects = append(to.Subjects, subject)
		}
		return visit(to)
	})
	if err == nil && gap != "" {
		c.survey.gap("%s: %s", kind, gap)
	}
	return err
}

// subject returns the subject of a list item, which does not contain its kind.
func (c *clusterSurvey) subject(kind schema.GroupVersionKind, item []byte, scalePath fieldpath.Path) (Subject, error) {
	subject, err := c.survey.who.subject(kind, "", "", item)
	if err != nil {
		return subject, err
	}
	subject.Namespace, subject.Name = stringAt(subject.Object, "metadata", "namespace"), stringAt(subject.Object, "metadata", "name")
	c.survey.complete(&subject, scalePath)
	return subject, nil
}

// scaleOf returns the scale field of a kind, nil if it has none, or the gap if it is unknown.
func (c *clusterSurvey) scaleOf(ctx context.Context, kind resourceKind) (path fieldpath.Path, gap string, err error) {
	if path = scale.Known(kind.gvk.Group, kind.gvk.Kind); path != nil || !kind.scales {
		return path, "", nil
	}
	field, err := c.facts.customScale(ctx, kind.gvk)
	return field.path, field.gap, err
}
