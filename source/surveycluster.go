package source

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/cluster"
	"github.com/ownership-handoff/handoff/ownership"
)

// clusterSurvey is a survey of a cluster.
type clusterSurvey struct {
	*Survey
	lister    lister
	facts     *clusterFacts
	served    servedKinds
	kinds     []resourceKind // to look at
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
	c := clusterSurvey{Survey: s, query: q, namespace: namespace, whole: map[schema.GroupKind]bool{}}
	if c.lister, err = newLister(r.Cluster); err != nil {
		return Advise(err, "")
	}
	if c.served, err = newServedKinds(r.Cluster); err != nil {
		return Advise(err, "")
	}
	if c.kinds, err = c.served.chosen(r.Cluster, q.Objects); err != nil {
		return Advise(err, "")
	}
	if c.facts, err = newClusterFacts(r.Cluster, q.AllNamespaces); err != nil {
		return Advise(err, "")
	}
	for group := range c.served.unknown {
		s.gap("what the API group %s serves is not known, for the API server behind it does not answer; "+
			"see kubectl get apiservices", group)
	}
	if err := c.readNamespaces(ctx); err != nil {
		return err
	}
	if err := c.readAutoscalers(ctx); err != nil {
		return err
	}
	s.each = c.each
	return nil
}

func (c *clusterSurvey) readNamespaces(ctx context.Context) error {
	note := func(text []byte) error {
		o, err := ownership.ParseObject(text)
		c.addNamespace(o)
		return err
	}
	var err error
	verb, which := "list", "namespaces"
	if c.namespace == "" {
		err = c.lister.each(ctx, list{path: "/api/v1/namespaces", metadata: true}, func(page listed) error {
			for _, item := range page.items {
				if err := note(item); err != nil {
					return err
				}
			}
			return nil
		})
	} else {
		verb, which = "get", "namespaces "+c.namespace
		var body []byte
		if body, err = c.lister.get(ctx, "/api/v1/namespaces/"+c.namespace); err == nil {
			err = note(body)
		}
	}
	if apierrors.IsForbidden(err) {
		c.gap("in which mode handoff is in the namespaces is not known; ask for the right to %s %s", verb, which)
		return nil
	}
	if err != nil {
		return Advise(err, "")
	}
	return nil
}

func (c *clusterSurvey) readAutoscalers(ctx context.Context) error {
	selector, err := selectorOf(c.query)
	if err != nil {
		return err
	}
	own := hpaKind()
	path := resourceKind{
		GroupVersionKind: own.WithVersion("v2"), resource: "horizontalpodautoscalers", namespaced: true,
	}.path(c.namespace)
	err = c.lister.each(ctx, list{path: path}, func(page listed) error {
		for _, item := range page.items {
			var hpa autoscalingv2.HorizontalPodAutoscaler
			if err := json.Unmarshal(item, &hpa); err != nil {
				return fmt.Errorf("a HorizontalPodAutoscaler cannot be read: %w", err)
			}
			target, _, _ := cluster.TargetOf(&hpa)
			c.add(&hpa, selector.Matches(labels.Set(hpa.Labels)) && (len(c.query.Objects) == 0 || c.looksAt(own) || c.looksAt(target)))
			c.settleKind(&c.Autoscalers[len(c.Autoscalers)-1])
		}
		return nil
	})
	switch {
	case apierrors.IsForbidden(err):
		c.gap("which objects a HorizontalPodAutoscaler targets is not known; "+
			"ask for the right to list horizontalpodautoscalers.autoscaling %s", c.where())
		return nil
	case apierrors.IsNotFound(err): // the API server does not serve them, so there are none
		return nil
	case err != nil:
		return Advise(err, c.namespace)
	}
	return nil
}

func (c *clusterSurvey) where() string {
	if c.namespace == "" {
		return "in all namespaces, or look into one of them with -n"
	}
	return "in namespace " + c.namespace
}

func (c *clusterSurvey) looksAt(kind schema.GroupKind) bool {
	return slices.ContainsFunc(c.kinds, func(k resourceKind) bool { return k.GroupKind() == kind })
}

// each reads the lists, and then what autoscalers target beside them.
func (c *clusterSurvey) each(ctx context.Context, visit func(Page) error) error {
	var first error
	var refused []string
	read := false
	for _, kind := range c.kinds {
		err := c.eachOf(ctx, kind, func(page Page) error {
			read = true
			return visit(page)
		})
		switch {
		case err == nil:
			c.whole[kind.GroupKind()] = c.query.Selector == ""
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsForbidden(err):
			refused = append(refused, kind.String())
		default:
			c.gap("%s: the list is not whole: %v", kind, Advise(err, c.namespace))
		}
		if first == nil {
			first = err
		}
	}
	switch {
	case read || first == nil:
	case len(refused) < len(c.kinds):
		return Advise(first, c.namespace)
	default:
		return fmt.Errorf("%s may not be listed; ask for the right to list them %s", strings.Join(refused, ", "), c.where())
	}
	if len(refused) > 0 {
		c.gap("%s were not looked at; ask for the right to list them %s", strings.Join(refused, ", "), c.where())
	}
	return c.settle(ctx, visit)
}

func (c *clusterSurvey) eachOf(ctx context.Context, kind resourceKind, visit func(Page) error) error {
	scale, gap, err := c.scaleOf(ctx, kind)
	if err != nil {
		return err
	}
	of := list{path: kind.path(c.namespace), selector: c.query.Selector}
	err = c.lister.each(ctx, of, func(page listed) error {
		to := Page{Resource: kind.String(), Left: page.left, Subjects: make([]Subject, 0, len(page.items))}
		for _, item := range page.items {
			subject, err := c.subject(kind.GroupVersionKind, item, scale)
			if err != nil {
				return err
			}
			to.Subjects = append(to.Subjects, subject)
		}
		return visit(to)
	})
	if err == nil && gap != "" {
		c.gap("%s: %s", kind, gap)
	}
	return err
}

// subject reads an item of a list, which does not say its kind.
func (c *clusterSurvey) subject(kind schema.GroupVersionKind, item []byte, scale fieldpath.Path) (Subject, error) {
	subject, err := c.who.subject(kind, "", "", item)
	if err != nil {
		return subject, err
	}
	subject.Namespace, subject.Name = stringAt(subject.Object, "metadata", "namespace"), stringAt(subject.Object, "metadata", "name")
	c.complete(&subject, scale)
	return subject, nil
}

// scaleOf returns the scale field of a kind, nil where it has none, and why it is not known.
func (c *clusterSurvey) scaleOf(ctx context.Context, kind resourceKind) (path fieldpath.Path, gap string, err error) {
	if path = cluster.BuiltinScale(kind.Group, kind.Kind); path != nil || !kind.scales {
		return path, "", nil
	}
	field, err := c.facts.customScale(ctx, kind.GroupVersionKind)
	return field.path, field.gap, err
}
