package source

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"
)

// Live reads live objects one by one, as manifests identify them.
type Live struct {
	// inFiles reports whether the objects are in files, from which kubectl get removes managedFields by default.
	inFiles bool
	who     who
	known   facts
	get     func(context.Context, Identity) (*unstructured.Unstructured, error)
}

// Identity is what a manifest says about which object it describes.
type Identity struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// String returns the name of the object as kubectl prints it, such as deployment.apps/web.
func (i Identity) String() string { return nameOf(i.Kind, i.Name) }

// Live returns a reader of live objects from the cluster or, if given, from files of live objects.
func (r Reader) Live(files resource.FilenameOptions) (*Live, error) {
	w, err := whoOf(r.Configuration)
	if err != nil {
		return nil, err
	}
	if len(files.Filenames) > 0 {
		return r.liveInFiles(w, files)
	}
	namespace, _, err := r.Cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, Advise(err, "")
	}
	known, err := newClusterFacts(r.Cluster)
	if err != nil {
		return nil, Advise(err, namespace)
	}
	mapper, err := r.Cluster.ToRESTMapper()
	if err != nil {
		return nil, Advise(err, namespace)
	}
	get := func(ctx context.Context, id Identity) (*unstructured.Unstructured, error) {
		live, err := getLive(ctx, known.objects, mapper, id, namespace)
		if live == nil && err == nil && known.unavailable(id.Kind.Group) {
			err = fmt.Errorf("unknown whether it exists, because the API server of the API group %s does not respond; "+
				"see kubectl get apiservices", id.Kind.Group)
		}
		return live, err
	}
	return &Live{who: w, known: known, get: get}, nil
}

// getLive returns the live object, or nil if there is none. If the API server does not serve the kind, there is none.
func getLive(
	ctx context.Context, objects dynamic.Interface, mapper meta.RESTMapper, id Identity, namespace string,
) (*unstructured.Unstructured, error) {
	mapping, err := mapper.RESTMapping(id.Kind.GroupKind(), id.Kind.Version)
	if meta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // no object and no error
	}
	if err != nil {
		return nil, Advise(err, namespace)
	}
	var client dynamic.ResourceInterface = objects.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if id.Namespace != "" {
			namespace = id.Namespace
		}
		client = objects.Resource(mapping.Resource).Namespace(namespace)
	}
	live, err := client.Get(ctx, id.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // no object and no error
	case err != nil && isSecret(id.Kind):
		return nil, Subject{Kind: id.Kind, Namespace: namespace}.Advise(err)
	case err != nil:
		return nil, Advise(err, namespace)
	}
	return live, nil
}

func (r Reader) liveInFiles(w who, files resource.FilenameOptions) (*Live, error) {
	stored, known, err := r.storedFacts(files)
	if err != nil {
		return nil, err
	}
	namespace := r.explicitNamespace()
	get := func(_ context.Context, id Identity) (*unstructured.Unstructured, error) {
		manifest := &unstructured.Unstructured{Object: map[string]any{}}
		manifest.SetGroupVersionKind(id.Kind)
		manifest.SetNamespace(id.Namespace)
		manifest.SetName(id.Name)
		return liveOf(manifest, stored, namespace)
	}
	return &Live{inFiles: true, who: w, known: known, get: get}, nil
}

// Read returns the live object with the facts about its owners; ok is false if it does not exist. The error is one line that
// includes a remedy.
func (l *Live) Read(ctx context.Context, id Identity) (s Subject, ok bool, err error) {
	live, err := l.get(ctx, id)
	if err != nil || live == nil {
		return s, false, err
	}
	if s, err = newSubject(live, l.who); err != nil {
		return s, false, err
	}
	if err := s.addFacts(ctx, l.who, l.known); err != nil {
		return s, false, err
	}
	if l.inFiles && len(s.Object.ManagedFields()) == 0 {
		s.gap("no managedFields, so the owners of its fields are unknown; export it with kubectl get -o yaml --show-managed-fields")
	}
	return s, true, nil
}
