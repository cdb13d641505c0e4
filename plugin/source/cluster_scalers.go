package source

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// namespaceScalers are the scalers of a namespace, or of all namespaces, and what could not be read.
type namespaceScalers struct {
	scalers scalerList
	gaps    []string
}

func (f *clusterFacts) scalers(ctx context.Context, s *Subject, kinds []scale.Kind) (scalerList, error) {
	if f.everywhere {
		all, err := f.scalersIn(ctx, metav1.NamespaceAll, kinds)
		if err != nil || len(all.gaps) == 0 {
			return all.scalers, err
		}
	}
	near, err := f.scalersIn(ctx, s.Namespace, kinds)
	for _, gap := range near.gaps {
		s.gap("%s", gap)
	}
	return near.scalers, err
}

func (f *clusterFacts) scalersIn(ctx context.Context, namespace string, kinds []scale.Kind) (list namespaceScalers, err error) {
	list, known := f.scalersBy[namespace]
	if known {
		return list, nil
	}
	if f.served == nil {
		served, err := newServedKinds(f.getter)
		if err != nil {
			return list, Advise(err, "")
		}
		f.served = &served
	}
	for rank, kind := range kinds {
		gap, err := f.listScalers(ctx, namespace, kind, rank, &list.scalers)
		if err != nil {
			return list, err
		}
		if gap != "" {
			list.gaps = append(list.gaps, gap)
			continue
		}
		list.scalers.readable = append(list.scalers.readable, kind.Managers...)
	}
	f.scalersBy[namespace] = list
	return list, nil
}

func (f *clusterFacts) listScalers(
	ctx context.Context, namespace string, kind scale.Kind, rank int, list *scalerList,
) (gap string, err error) {
	resource, gap, ok := f.served.scaler(kind.GroupKind)
	if !ok {
		return gap, nil
	}
	found, err := f.objects.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		name := resource.GroupResource().String()
		return unknownScalers(kind.GroupKind.Kind, "ask for permission to list "+name+" in namespace "+namespace), nil
	case apierrors.IsNotFound(err): // the kind was deleted a moment ago
		return "", nil
	case err != nil:
		return "", Advise(err, namespace)
	}
	for i := range found.Items {
		list.add(kind, rank, &found.Items[i])
	}
	return "", nil
}

func unknownScalers(kind, remedy string) string {
	return fmt.Sprintf("unknown whether a %s targets it; %s", kind, remedy)
}

// scaler returns the resource of a kind of scaler; ok is false if it is not installed, or if that is not known, which is a gap.
func (s *servedKinds) scaler(kind schema.GroupKind) (resource schema.GroupVersionResource, gap string, ok bool) {
	served, ok := s.of(kind)
	switch {
	case ok:
		return served.gvk.GroupVersion().WithResource(served.resource), "", served.namespaced
	case s.unknown[kind.Group]:
		return resource, unknownScalers(kind.Kind, "its API server does not respond: see kubectl get apiservices"), false
	default:
		return resource, "", false
	}
}

// readScalers reads the scalers of a survey.
func (c *clusterSurvey) readScalers(ctx context.Context) error {
	for rank, kind := range c.survey.who.scalers {
		_, gap, ok := c.served.scaler(kind.GroupKind)
		if !ok {
			if gap == "" {
				c.survey.scalers.readable = append(c.survey.scalers.readable, kind.Managers...)
			}
			continue
		}
		served, _ := c.served.of(kind.GroupKind)
		err := c.lister.each(ctx, list{path: served.path(c.namespace)}, func(page listed) error {
			for _, item := range page.items {
				o := &unstructured.Unstructured{}
				if err := json.Unmarshal(item, &o.Object); err != nil {
					return fmt.Errorf("parsing a %s: %w", kind.GroupKind.Kind, err)
				}
				c.survey.scalers.add(kind, rank, o)
			}
			return nil
		})
		switch {
		case apierrors.IsForbidden(err):
			c.survey.gap("unknown which objects %ss target; ask for permission to list %s %s", kind.GroupKind.Kind, served, c.where())
			continue
		case err != nil && !apierrors.IsNotFound(err):
			return Advise(err, c.namespace)
		}
		c.survey.scalers.readable = append(c.survey.scalers.readable, kind.Managers...)
	}
	return nil
}
