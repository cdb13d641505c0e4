package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"

	"github.com/ownership-handoff/handoff/ownership"
)

// Live reads live objects one by one, as manifests identify them.
type Live struct {
	known *facts
	// namespace is that of objects without one: in files, only if a flag selects it.
	namespace string
	// objects and mapper are those of the cluster, nil if live objects are read from files.
	objects dynamic.Interface
	mapper  meta.RESTMapper
	// unavailable reports whether the kinds of a group are unknown, because its aggregated API server is down.
	unavailable func(group string) bool
	// stored are the live objects in files.
	stored []*unstructured.Unstructured
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
	namespace, explicit, err := r.Cluster.ToRawKubeConfigLoader().Namespace()
	if len(files.Filenames) > 0 {
		if err != nil || !explicit {
			namespace = ""
		}
		return r.liveInFiles(w, files, namespace)
	}
	if err != nil {
		return nil, Advise(err, "")
	}
	from, err := newCluster(r.Cluster)
	if err != nil {
		return nil, Advise(err, namespace)
	}
	l := &Live{known: newFacts(from, w), namespace: namespace, objects: from.objects, unavailable: from.unavailable}
	if l.mapper, err = r.Cluster.ToRESTMapper(); err != nil {
		return nil, Advise(err, namespace)
	}
	return l, nil
}

func (r Reader) liveInFiles(w who, files resource.FilenameOptions, namespace string) (*Live, error) {
	stored, err := r.localObjects(Query{Files: files})
	if err != nil {
		return nil, Advise(err, namespace)
	}
	from, err := newFiles(stored)
	return &Live{known: newFacts(from, w), namespace: namespace, stored: stored}, err
}

// get returns the live object, or nil if there is none.
func (l *Live) get(ctx context.Context, id Identity) (*unstructured.Unstructured, error) {
	if l.objects == nil {
		return l.find(id)
	}
	client, _, err := l.client(id)
	switch {
	case err != nil:
		return nil, err
	case client == nil && l.unavailable(id.Kind.Group):
		return nil, fmt.Errorf("unknown whether it exists, because the API server of the API group %s does not respond; "+
			"see kubectl get apiservices", id.Kind.Group)
	case client == nil:
		return nil, nil //nolint:nilnil // no object and no error
	}
	live, err := client.Get(ctx, id.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // no object and no error
	case err != nil && isSecret(id.Kind):
		return nil, Subject{Kind: id.Kind, Namespace: id.Namespace}.Advise(err)
	case err != nil:
		return nil, Advise(err, id.Namespace)
	}
	return live, nil
}

// client returns the client for an object, nil if the API server does not serve the kind.
func (l *Live) client(id Identity) (client dynamic.ResourceInterface, namespaced bool, err error) {
	mapping, err := l.mapper.RESTMapping(id.Kind.GroupKind(), id.Kind.Version)
	switch {
	case meta.IsNoMatchError(err):
		return nil, false, nil
	case err != nil:
		return nil, false, Advise(err, l.namespace)
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return l.objects.Resource(mapping.Resource), false, nil
	case id.Namespace == "":
		id.Namespace = l.namespace
	}
	return l.objects.Resource(mapping.Resource).Namespace(id.Namespace), true, nil
}

// find finds a live object in files. If neither the manifest nor the caller specifies a namespace, the name must be unique.
func (l *Live) find(id Identity) (found *unstructured.Unstructured, err error) {
	if id.Namespace == "" {
		id.Namespace = l.namespace
	}
	for _, o := range l.stored {
		same := o.GroupVersionKind().GroupKind() == id.Kind.GroupKind() && o.GetName() == id.Name
		if !same || id.Namespace != "" && o.GetNamespace() != "" && o.GetNamespace() != id.Namespace {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s: the files contain it in namespaces %s and %s; select one with -n",
				id, found.GetNamespace(), o.GetNamespace())
		}
		found = o
	}
	return found, nil
}

// Read returns the live object with the facts about its owners; ok is false if it does not exist. The error is one line that
// includes a remedy.
func (l *Live) Read(ctx context.Context, id Identity) (s Subject, ok bool, err error) {
	live, err := l.get(ctx, id)
	if err != nil || live == nil {
		return s, false, err
	}
	if s, err = newSubject(live, l.known.who); err != nil {
		return s, false, err
	}
	if err := l.known.complete(ctx, &s); err != nil {
		return s, false, err
	}
	if l.objects == nil && len(s.Object.ManagedFields()) == 0 { // kubectl get removes them by default
		s.gap("no managedFields, so the owners of its fields are unknown; export it with kubectl get -o yaml --show-managed-fields")
	}
	return s, true, nil
}

// Application is a manifest and the live object that it is applied to. The zero Object means that there is no live object.
type Application struct {
	Subject  Subject
	Manifest *unstructured.Unstructured
	// ClusterScoped reports whether the object is cluster-scoped.
	ClusterScoped bool
	// Mode is the namespace's mode, or UnknownMode.
	Mode ownership.Mode
	// Resource is the client for the object; nil if live objects are read from files.
	Resource dynamic.ResourceInterface
}

// ReadApplications reads the manifests in a query's files that match its selector, each with its live object from the cluster
// or, if given, from the files of live objects. Errors of single objects in the cluster are gaps.
func (r Reader) ReadApplications(
	ctx context.Context, q Query, files resource.FilenameOptions,
) (applications []Application, gaps []string, err error) {
	if slices.Contains(q.Files.Filenames, "-") && slices.Contains(files.Filenames, "-") {
		return nil, nil, errors.New("manifests and live objects cannot both come from standard input; name a file for one of them")
	}
	// Parse the files without the cluster first: the errors of malformed files are clearer.
	var input bytes.Buffer
	sent, err := Reader{Cluster: r.Cluster, In: io.TeeReader(r.In, &input)}.localObjects(q)
	if err != nil {
		return nil, nil, err
	}
	live, err := r.Live(files)
	if err != nil {
		return nil, nil, err
	}
	if live.objects != nil {
		r.In = &input
		if sent, err = r.mappedObjects(q); err != nil {
			return nil, nil, Advise(err, live.namespace)
		}
	}
	for _, manifest := range sent {
		a, err := live.application(ctx, manifest)
		switch {
		case err != nil && live.objects == nil:
			return nil, nil, err
		case err != nil:
			gaps = append(gaps, fmt.Sprintf("%s: %v", nameOf(manifest.GroupVersionKind(), manifest.GetName()), err))
		default:
			applications = append(applications, a)
		}
	}
	return applications, gaps, nil
}

// mappedObjects reads manifests whose kinds the cluster serves, with the namespace that they are applied to.
func (r Reader) mappedObjects(q Query) ([]*unstructured.Unstructured, error) {
	namespace, enforced, err := r.Cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	builder := resource.NewBuilder(r.Cluster).Unstructured().NamespaceParam(namespace).DefaultNamespace().
		LabelSelectorParam(q.Selector)
	infos, err := r.visitFiles(builder, enforced, q.Files)
	if err != nil {
		return nil, err
	}
	objects, err := unstructuredOf(infos)
	for i, o := range objects {
		if infos[i].Namespaced() {
			o.SetNamespace(infos[i].Namespace)
		}
	}
	return objects, err
}

// application reads the live object of a manifest, and sets the manifest's namespace.
func (l *Live) application(ctx context.Context, manifest *unstructured.Unstructured) (a Application, err error) {
	a.Manifest = manifest
	id := Identity{manifest.GroupVersionKind(), manifest.GetNamespace(), manifest.GetName()}
	if l.objects != nil {
		if id.Name == "" {
			return a, errors.New("metadata.name is missing, but kubectl apply requires it; set it, or use kubectl create")
		}
		var namespaced bool
		a.Resource, namespaced, err = l.client(id)
		a.ClusterScoped = !namespaced
		if err != nil {
			return a, err
		}
	}
	live, err := l.get(ctx, id)
	switch {
	case err != nil:
		return a, err
	case l.objects == nil && live != nil:
		manifest.SetNamespace(live.GetNamespace())
	case l.objects == nil && id.Namespace == "":
		manifest.SetNamespace(l.namespace)
	}
	if live == nil {
		a.Subject, err = newSubject(manifest, l.known.who)
		a.Subject.Object = ownership.Object{}
	} else {
		a.Subject, err = newSubject(live, l.known.who)
	}
	if err == nil {
		err = l.known.complete(ctx, &a.Subject)
	}
	if err != nil {
		return a, err
	}
	a.Mode, err = l.known.from.namespaceMode(ctx, a.Subject.Namespace)
	return a, err
}

func (r Reader) localObjects(q Query) ([]*unstructured.Unstructured, error) {
	builder := resource.NewBuilder(r.Cluster).Unstructured().Local().LabelSelectorParam(q.Selector)
	infos, err := r.visitFiles(builder, false, q.Files)
	if err != nil {
		return nil, err
	}
	return unstructuredOf(infos)
}
