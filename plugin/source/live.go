package source

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// Live reads live objects one by one. The scalers of each namespace and the scale field of each kind are read once.
type Live struct {
	from origin
	// cluster is from, nil if objects are read from files.
	cluster *cluster
	// namespace is that of objects without one: in files, only if a flag selects it. A flag also forbids others.
	namespace string
	explicit  bool

	managers ownership.Managers
	rules    ownership.Rules
	kinds    []scale.Kind // of scalers
	fields   map[schema.GroupVersionKind]scaleField
	scalers  map[string]*scalers // by namespace
	// everywhere reads the scalers of all namespaces at once. Users without that permission read them by namespace.
	everywhere bool
}

// Identity is what a manifest says about which object it describes.
type Identity struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// String returns the name of the object as kubectl prints it, such as deployment.apps/web.
func (i Identity) String() string { return nameOf(i.Kind, i.Name) }

// IdentityOf returns the identity of a manifest.
func IdentityOf(o *unstructured.Unstructured) Identity {
	return Identity{o.GroupVersionKind(), o.GetNamespace(), o.GetName()}
}

// Read returns the live object with the facts about its owners; ok is false if it does not exist. The error is one line that
// includes a remedy.
func (l *Live) Read(ctx context.Context, id Identity) (s Subject, ok bool, err error) {
	live, err := l.from.get(ctx, id, l.namespace)
	if err != nil || live == nil {
		return s, false, err
	}
	s, err = l.subject(ctx, live)
	if l.cluster == nil && len(s.Object.ManagedFields()) == 0 { // kubectl get removes them by default
		s.gap("no managedFields, so the owners of its fields are unknown; export it with kubectl get -o yaml --show-managed-fields")
	}
	return s, err == nil, err
}

// Namespaces returns the modes of the namespaces in files, by name.
func (l *Live) Namespaces() map[string]ownership.Mode {
	modes := map[string]ownership.Mode{}
	if in, ok := l.from.(*files); ok {
		for _, o := range in.of(schema.GroupKind{Kind: "Namespace"}) {
			text, annotated := o.GetAnnotations()[ownership.ModeAnnotation]
			modes[o.GetName()], _ = ownership.ModeOf(text, annotated)
		}
	}
	return modes
}

// Application is a manifest and the live object that it is applied to.
type Application struct {
	// Subject has no Object if there is no live object.
	Subject  Subject
	Manifest *unstructured.Unstructured
	// Resource is the client for the object; nil if live objects are read from files.
	Resource dynamic.ResourceInterface
}

// Application reads the live object of a manifest, and sets the manifest's namespace.
func (l *Live) Application(ctx context.Context, manifest *unstructured.Unstructured) (a Application, err error) {
	a.Manifest = manifest
	namespaced := true
	if l.cluster != nil {
		if namespaced, err = l.place(&a); err != nil {
			return a, err
		}
	}
	live, err := l.from.get(ctx, IdentityOf(manifest), l.namespace)
	switch {
	case err != nil:
		return a, err
	case l.cluster == nil && live != nil:
		manifest.SetNamespace(live.GetNamespace())
	case l.cluster == nil && manifest.GetNamespace() == "":
		manifest.SetNamespace(l.namespace)
	}
	if live != nil {
		a.Subject, err = l.subject(ctx, live)
	} else if a.Subject, err = l.newSubject(manifest); err == nil {
		a.Subject.Object = ownership.Object{}
		err = l.complete(ctx, &a.Subject)
	}
	if !namespaced {
		a.Subject.Namespace = "" // the API server ignores that of the manifest
	}
	return a, err
}

// place sets where the API server stores the object of a manifest, as kubectl apply does.
func (l *Live) place(a *Application) (namespaced bool, err error) {
	id := IdentityOf(a.Manifest)
	if id.Name == "" {
		return false, errors.New("metadata.name is missing, but kubectl apply requires it; set it, or use kubectl create")
	}
	a.Resource, namespaced, err = l.cluster.client(id, l.namespace)
	switch {
	case err != nil:
		return false, err
	case a.Resource == nil:
		return false, fmt.Errorf("the API server does not serve kind %s in version %s; create its CustomResourceDefinition first, "+
			"or see kubectl api-resources", id.Kind.Kind, id.Kind.GroupVersion())
	case namespaced && id.Namespace == "":
		a.Manifest.SetNamespace(l.namespace)
	case namespaced && l.explicit && id.Namespace != l.namespace: // as kubectl
		return false, fmt.Errorf("the manifest has namespace %s, but -n selects %s; use -n %s, or omit it", id.Namespace, l.namespace, id.Namespace)
	}
	return namespaced, nil
}

// subject returns the subject of an object, with its scale field and its scaler.
func (l *Live) subject(ctx context.Context, o *unstructured.Unstructured) (Subject, error) {
	s, err := l.newSubject(o)
	if err != nil {
		return s, err
	}
	err = l.complete(ctx, &s)
	return s, err
}

// complete adds the scale field and the scaler to a subject.
func (l *Live) complete(ctx context.Context, s *Subject) error {
	field, err := l.setScale(ctx, s)
	if field.gap != "" {
		s.gap("%s", field.gap)
	}
	if err != nil || field.path == nil {
		return err
	}
	near, err := l.scalersIn(ctx, s.Namespace)
	if err != nil {
		return err
	}
	for _, kind := range near.unread {
		s.gap("unknown whether a %s targets it%s; %s", kind.name, kind.because, kind.remedy)
	}
	s.scaledBy(near)
	return nil
}

// scalersIn returns the scalers of a namespace, possibly with those of others.
func (l *Live) scalersIn(ctx context.Context, namespace string) (*scalers, error) {
	if l.everywhere && namespace != "" {
		if all, err := l.scalersIn(ctx, ""); err != nil || len(all.unread) == 0 {
			return all, err
		}
	}
	read := l.scalers[namespace]
	if read != nil {
		return read, nil
	}
	read, err := readScalers(ctx, l.from, l.kinds, namespace)
	l.scalers[namespace] = read
	return read, err
}

// scaleField is the scale field of a kind: in one version, and in any. The gap says why it is unknown.
type scaleField struct {
	path fieldpath.Path
	in   ownership.ScalePaths
	gap  string
}

// setScale sets the path of the scale field of a subject's kind.
func (l *Live) setScale(ctx context.Context, s *Subject) (field scaleField, err error) {
	field, known := l.fields[s.Kind]
	if path := scale.Known(s.Kind.Group, s.Kind.Kind); path != nil {
		field, known = scaleField{path: path, in: func(string) fieldpath.Path { return path }}, true
	}
	if !known {
		crd, gap, err := l.from.definition(ctx, s.Kind.GroupKind())
		if err != nil {
			return field, err
		}
		if field.gap = gap; crd != nil {
			field.in = func(apiVersion string) fieldpath.Path {
				gv, _ := schema.ParseGroupVersion(apiVersion) // an invalid one has no path
				return scale.Declared([]apiextensionsv1.CustomResourceDefinition{*crd}, gv.Group, gv.Version, s.Kind.Kind)
			}
			field.path = field.in(s.Kind.GroupVersion().String())
		}
		l.fields[s.Kind] = field
	}
	s.Context.Scale, s.Context.Managers.Scale = field.path, field.in
	return field, nil
}
