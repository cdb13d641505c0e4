package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

type scaleField struct {
	path fieldpath.Path
	in   ownership.ScalePaths // in any version of the kind
	gap  string
}

// scalesOf returns the scale field of a kind, by version, as its CustomResourceDefinitions declare it.
func scalesOf(crds []apiextensionsv1.CustomResourceDefinition, kind schema.GroupKind) ownership.ScalePaths {
	return func(apiVersion string) fieldpath.Path {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return nil
		}
		return scale.Declared(crds, gv.Group, gv.Version, kind.Kind)
	}
}

func (f *clusterFacts) scalePath(ctx context.Context, s *Subject) (fieldpath.Path, error) {
	if path := scale.Known(s.Kind.Group, s.Kind.Kind); path != nil {
		return path, nil
	}
	field, known := f.scales[s.Kind]
	if !known {
		var err error
		if field, err = f.customScale(ctx, s.Kind); err != nil {
			return nil, err
		}
		f.scales[s.Kind] = field
	}
	if field.gap != "" {
		s.gap("%s", field.gap)
	}
	s.Context.ScaleIn = field.in
	return field.path, nil
}

// customScale reads the CustomResourceDefinition of a kind, but only if a version of it has a scale subresource: discovery shows
// that without any permission.
func (f *clusterFacts) customScale(ctx context.Context, kind schema.GroupVersionKind) (field scaleField, err error) {
	served, err := f.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		return field, Advise(err, "")
	}
	at := slices.IndexFunc(served.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == kind.Kind && !strings.Contains(r.Name, "/")
	})
	if at < 0 {
		return field, nil
	}
	name := served.APIResources[at].Name
	if scales, err := f.scalesInAnyVersion(kind.Group, name); err != nil || !scales {
		return field, err
	}
	resources := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	found, err := f.objects.Resource(resources).Get(ctx, name+"."+kind.Group, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		field.gap = fmt.Sprintf("unknown which field an autoscaler sets; "+
			"ask for permission to get customresourcedefinitions.apiextensions.k8s.io %s.%s", name, kind.Group)
		return field, nil
	case apierrors.IsNotFound(err): // served by an aggregated API server, which does not publish the path
		field.gap = "unknown which field an autoscaler sets: there is no CustomResourceDefinition"
		return field, nil
	case err != nil:
		return field, Advise(err, "")
	}
	crd, err := crdOf(found)
	field.in = scalesOf([]apiextensionsv1.CustomResourceDefinition{crd}, kind.GroupKind())
	field.path = field.in(kind.GroupVersion().String())
	return field, err
}

// scalesInAnyVersion reports whether a version of a group serves the scale subresource of a resource.
func (f *clusterFacts) scalesInAnyVersion(group, resource string) (bool, error) {
	groups, err := f.discovery.ServerGroups()
	if err != nil {
		return false, Advise(err, "")
	}
	at := slices.IndexFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == group })
	if at < 0 {
		return false, nil
	}
	for _, version := range groups.Groups[at].Versions {
		served, err := f.discovery.ServerResourcesForGroupVersion(version.GroupVersion)
		if err != nil {
			return false, Advise(err, "")
		}
		if slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == resource+"/scale" }) {
			return true, nil
		}
	}
	return false, nil
}
