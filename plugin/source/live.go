package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// Open returns a reader that has opened the files or, without any, the cluster. If it is open, only its configuration is read again.
func (r Reader) Open() (*Reader, error) {
	r.managers = r.Configuration.Managers()
	r.fields, r.scalers = map[schema.GroupVersionKind]scaleField{}, map[string]*scalers{}
	var err error
	if r.selector, err = labels.Parse(r.Selector); err != nil {
		return nil, fmt.Errorf("selector %q: %w", r.Selector, err)
	}
	if r.rules, err = r.Configuration.ParsedRules(); err != nil {
		return nil, err
	}
	if r.kinds, err = r.Configuration.ScalerKinds(); err != nil || r.from != nil {
		return &r, err
	}
	r.namespace, r.explicit, err = r.Cluster.ToRawKubeConfigLoader().Namespace()
	if r.Offline() {
		r.AllNamespaces = true
		if err != nil || !r.explicit {
			r.namespace = ""
		}
		objects, err := ReadFiles(r.In, r.Files, "")
		objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
			return r.namespace != "" && o.GetNamespace() != "" && o.GetNamespace() != r.namespace
		})
		if err == nil && r.namespace != "" && len(objects) == 0 {
			err = fmt.Errorf("the files contain no objects in namespace %s; select another one with -n", r.namespace)
		}
		r.from = &fileOrigin{objects, r.kinds}
		return &r, err
	}
	if err == nil {
		r.cluster, err = newCluster(r.Cluster)
		r.from = r.cluster
	}
	if err != nil {
		return nil, Advise(err, r.namespace)
	}
	return &r, nil
}

// Read reads the objects that are named as in kubectl get: TYPE, TYPE NAME... or TYPE/NAME...; in files, none or one TYPE/NAME. The
// gaps are about what could not be read. The error is one line that includes a remedy.
func (r *Reader) Read(ctx context.Context, names ...string) (subjects []Subject, gaps []string, err error) {
	objects, gaps, err := r.from.chosen(r, names)
	for _, o := range objects {
		s, err := r.subject(ctx, o, true)
		if err != nil {
			return subjects, gaps, err
		}
		subjects = append(subjects, s)
	}
	return subjects, gaps, err
}

// Get returns a live object with the facts about its owners; ok is false if it does not exist. The error is one line that
// includes a remedy.
func (r *Reader) Get(ctx context.Context, id Identity) (s Subject, ok bool, err error) {
	live, err := r.from.get(ctx, id, r.namespace)
	if err != nil || live == nil {
		return s, false, err
	}
	s, err = r.subject(ctx, live, true)
	if r.cluster == nil && len(s.Object.ManagedFields()) == 0 { // kubectl get removes them by default
		s.Gap("no managedFields, so the owners of its fields are unknown; export it with kubectl get -o yaml --show-managed-fields")
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
func (r *Reader) Application(ctx context.Context, manifest *unstructured.Unstructured) (a Application, err error) {
	a.Manifest, a.Managers, a.Rules = manifest, r.managers, r.rules
	id := IdentityOf(manifest)
	if id.Name == "" {
		return a, errors.New("metadata.name is missing, but kubectl apply requires it; set it, or use kubectl create")
	}
	resource, namespaced, err := r.cluster.client(id, r.namespace)
	if err != nil {
		return a, err
	}
	a.Resource = resource
	if namespaced && r.explicit && id.Namespace != "" && id.Namespace != r.namespace {
		return a, fmt.Errorf("the manifest has namespace %s, but -n selects %s; use -n %s, or omit it", id.Namespace, r.namespace, id.Namespace)
	}
	live, err := r.from.get(ctx, id, r.namespace)
	if err != nil {
		return a, err
	}
	if namespaced && id.Namespace == "" {
		manifest.SetNamespace(r.namespace)
	}
	of := manifest
	if live != nil {
		of = live
	}
	a.Subject, err = r.subject(ctx, of, live != nil)
	if !namespaced {
		a.Subject.Namespace = "" // the API server ignores that of the manifest
	}
	return a, err
}

// subject returns the subject of an object, with its scale field and its scaler. If the object does not exist, it is a manifest.
func (r *Reader) subject(ctx context.Context, o *unstructured.Unstructured, exists bool) (Subject, error) {
	s, err := r.newSubject(o)
	if err != nil {
		return s, err
	}
	if !exists {
		s.Object = ownership.Object{}
	}
	field, err := r.scaleField(ctx, s.Kind)
	s.Context.Scale, s.Context.Managers.Scale = field.path, field.in
	if field.gap != "" {
		s.Gaps = append(s.Gaps, strings.ToLower(s.Kind.GroupKind().String())+": unknown which field an autoscaler sets"+field.gap)
	}
	if err != nil || field.path == nil {
		return s, err
	}
	near, err := r.scalersIn(ctx, s.Namespace)
	if err != nil {
		return s, err
	}
	s.Gaps = append(s.Gaps, near.unread...)
	s.scaledBy(near)
	return s, nil
}

// scalersIn returns the scalers of a namespace, possibly with those of others.
func (r *Reader) scalersIn(ctx context.Context, namespace string) (read *scalers, err error) {
	if namespace = cmp.Or(namespace, r.namespace); r.AllNamespaces {
		namespace = ""
	}
	if read = r.scalers[namespace]; read == nil {
		read, err = readScalers(ctx, r.from, r.kinds, namespace)
		r.scalers[namespace] = read
	}
	return read, err
}

func (r *Reader) scaleField(ctx context.Context, kind schema.GroupVersionKind) (field scaleField, err error) {
	field, known := r.fields[kind]
	if !known {
		if field, err = r.readScaleField(ctx, kind); err == nil {
			r.fields[kind] = field
		}
	}
	return field, err
}

func (r *Reader) readScaleField(ctx context.Context, kind schema.GroupVersionKind) (field scaleField, err error) {
	if path := scale.Known(kind.Group, kind.Kind); path != nil {
		return scaleField{path: path, in: func(string) fieldpath.Path { return path }}, nil
	}
	served, gap := r.from.kind(kind.GroupKind())
	if served == nil || !served.Scales { // which is known without any permission
		return scaleField{gap: gap}, nil
	}
	found, err := r.from.get(ctx, Identity{Kind: crdKind, Name: served.String()}, "")
	switch {
	case apierrors.IsForbidden(err):
		return scaleField{gap: fmt.Sprintf("; ask for permission to get customresourcedefinitions.apiextensions.k8s.io %s", served)}, nil
	case err != nil:
		return field, err
	case found == nil: // served by an aggregated API server, which does not publish the path
		return scaleField{gap: ": there is no CustomResourceDefinition"}, nil
	}
	crd, err := Convert[apiextensionsv1.CustomResourceDefinition](found)
	if err != nil {
		return field, err
	}
	field.in = func(apiVersion string) fieldpath.Path {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil || gv.Group != kind.Group { // another kind, or none
			return nil
		}
		return scale.Declared(crd, gv.Version)
	}
	field.path = field.in(kind.GroupVersion().String())
	return field, nil
}
