package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

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
	// everywhere reads the scalers of all namespaces at once.
	everywhere bool
}

// Read returns the live object with the facts about its owners; ok is false if it does not exist. The error is one line that
// includes a remedy.
func (l *Live) Read(ctx context.Context, id Identity) (s Subject, ok bool, err error) {
	live, err := l.from.get(ctx, id, l.namespace)
	if err != nil || live == nil {
		return s, false, err
	}
	s, err = l.subject(ctx, live, true)
	if l.cluster == nil && len(s.Object.ManagedFields()) == 0 { // kubectl get removes them by default
		s.gap("no managedFields, so the owners of its fields are unknown; export it with kubectl get -o yaml --show-managed-fields")
	}
	return s, err == nil, err
}

// Application is a manifest and the live object that it is applied to.
type Application struct {
	// Subject has no Object if there is no live object.
	Subject  Subject
	Manifest *unstructured.Unstructured
	// Resource is the client for the object.
	Resource dynamic.ResourceInterface
	// Managers and Rules come from the configuration.
	Managers ownership.Managers
	Rules    ownership.Rules
}

// Application reads the live object of a manifest in a cluster, and sets the manifest's namespace, as kubectl apply does.
func (l *Live) Application(ctx context.Context, manifest *unstructured.Unstructured) (a Application, err error) {
	a.Manifest, a.Managers, a.Rules = manifest, l.managers, l.rules
	id := IdentityOf(manifest)
	if id.Name == "" {
		return a, errors.New("metadata.name is missing, but kubectl apply requires it; set it, or use kubectl create")
	}
	resource, namespaced, err := l.cluster.client(id, l.namespace)
	if err != nil {
		return a, err
	}
	a.Resource = resource
	if namespaced && l.explicit && id.Namespace != "" && id.Namespace != l.namespace {
		return a, fmt.Errorf("the manifest has namespace %s, but -n selects %s; use -n %s, or omit it", id.Namespace, l.namespace, id.Namespace)
	}
	live, err := l.from.get(ctx, id, l.namespace)
	if err != nil {
		return a, err
	}
	if namespaced && id.Namespace == "" {
		manifest.SetNamespace(l.namespace)
	}
	of := manifest
	if live != nil {
		of = live
	}
	a.Subject, err = l.subject(ctx, of, live != nil)
	if !namespaced {
		a.Subject.Namespace = "" // the API server ignores that of the manifest
	}
	return a, err
}

// subject returns the subject of an object, with its scale field and its scaler. If the object does not exist, it is a manifest.
func (l *Live) subject(ctx context.Context, o *unstructured.Unstructured, exists bool) (Subject, error) {
	s, err := l.newSubject(o)
	if err != nil {
		return s, err
	}
	if !exists {
		s.Object = ownership.Object{}
	}
	field, err := l.scaleField(ctx, s.Kind)
	s.Context.Scale, s.Context.Managers.Scale = field.path, field.in
	if field.gap != "" {
		s.Gaps = append(s.Gaps, strings.ToLower(s.Kind.GroupKind().String())+": unknown which field an autoscaler sets"+field.gap)
	}
	if err != nil || field.path == nil {
		return s, err
	}
	near, err := l.scalersIn(ctx, s.Namespace)
	if err != nil {
		return s, err
	}
	s.Gaps = append(s.Gaps, near.unread...)
	s.scaledBy(near)
	return s, nil
}

// scalersIn returns the scalers of a namespace, possibly with those of others.
func (l *Live) scalersIn(ctx context.Context, namespace string) (read *scalers, err error) {
	if namespace = cmp.Or(namespace, l.namespace); l.everywhere {
		namespace = ""
	}
	if read = l.scalers[namespace]; read == nil {
		read, err = readScalers(ctx, l.from, l.kinds, namespace)
		l.scalers[namespace] = read
	}
	return read, err
}

// scaleField is the scale field of a kind: in one version, and in any. Without a path and a gap, the kind has none; the gap says why it
// is unknown.
type scaleField struct {
	path fieldpath.Path
	in   ownership.ScalePaths
	gap  string
}

func (l *Live) scaleField(ctx context.Context, kind schema.GroupVersionKind) (field scaleField, err error) {
	field, known := l.fields[kind]
	if !known {
		if field, err = l.readScaleField(ctx, kind); err == nil {
			l.fields[kind] = field
		}
	}
	return field, err
}

func (l *Live) readScaleField(ctx context.Context, kind schema.GroupVersionKind) (field scaleField, err error) {
	if path := scale.Known(kind.Group, kind.Kind); path != nil {
		return scaleField{path: path, in: func(string) fieldpath.Path { return path }}, nil
	}
	crd, gap, err := l.from.definition(ctx, kind.GroupKind())
	if crd == nil || err != nil {
		return scaleField{gap: gap}, err
	}
	field.in = func(apiVersion string) fieldpath.Path {
		gv, _ := schema.ParseGroupVersion(apiVersion) // an invalid one has no path
		return scale.Declared([]apiextensionsv1.CustomResourceDefinition{*crd}, gv.Group, gv.Version, kind.Kind)
	}
	field.path = field.in(kind.GroupVersion().String())
	return field, nil
}
