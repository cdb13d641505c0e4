package source

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func (c *clusterSurvey) readAutoscalers(ctx context.Context) error {
	selector, err := selectorOf(c.query)
	if err != nil {
		return err
	}
	own := hpaKind()
	path := resourceKind{
		gvk: own.WithVersion("v2"), resource: "horizontalpodautoscalers", namespaced: true,
	}.path(c.namespace)
	err = c.lister.each(ctx, list{path: path}, func(page listed) error {
		for _, item := range page.items {
			var hpa autoscalingv2.HorizontalPodAutoscaler
			if err := json.Unmarshal(item, &hpa); err != nil {
				return fmt.Errorf("parsing a HorizontalPodAutoscaler: %w", err)
			}
			if a, ok := autoscalerOf(&hpa); ok {
				c.addChosen(a, selector, hpa.Labels)
			}
		}
		return nil
	})
	switch {
	case apierrors.IsForbidden(err):
		c.survey.gap("unknown which objects HorizontalPodAutoscalers target; "+
			"ask for permission to list horizontalpodautoscalers.autoscaling %s", c.where())
		return nil
	case apierrors.IsNotFound(err): // the API server does not serve them, so there are none
		return nil
	case err != nil:
		return Advise(err, c.namespace)
	}
	return nil
}

// addChosen adds an autoscaler, which the query selects by its labels and the types of itself or its target.
func (c *clusterSurvey) addChosen(a Autoscaler, selector labels.Selector, set map[string]string) {
	a.Chosen = selector.Matches(labels.Set(set)) &&
		(len(c.query.Objects) == 0 || c.looksAt(a.Kind.GroupKind()) || c.looksAt(a.Target))
	if a.Presence == NotKnown {
		c.settleKind(&a)
	}
	c.survey.add(a)
}

func (c *clusterSurvey) where() string {
	if c.namespace == "" {
		return "in all namespaces, or select one with -n"
	}
	return "in namespace " + c.namespace
}

func (c *clusterSurvey) looksAt(kind schema.GroupKind) bool {
	return slices.ContainsFunc(c.kinds, func(k resourceKind) bool { return k.gvk.GroupKind() == kind })
}
