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
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"

	"github.com/ownership-handoff/handoff/ownership"
)

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
// or, if given, from the files of live objects. Errors of single objects are gaps.
func (r Reader) ReadApplications(ctx context.Context, q Query, live resource.FilenameOptions) ([]Application, []string, error) {
	w, err := whoOf(r.Configuration)
	if err != nil {
		return nil, nil, err
	}
	if len(live.Filenames) > 0 {
		applications, err := r.applicationsOfFiles(ctx, w, q, live)
		return applications, nil, err
	}
	return r.applicationsOfCluster(ctx, w, q)
}

func (r Reader) applicationsOfCluster(
	ctx context.Context, w who, q Query,
) ([]Application, []string, error) {
	namespace, enforced, err := r.Cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, nil, Advise(err, "")
	}
	cluster, err := newClusterFacts(r.Cluster)
	if err != nil {
		return nil, nil, Advise(err, namespace)
	}
	// Parse the files without the cluster first: the errors of malformed files are clearer.
	var input bytes.Buffer
	if _, err := (Reader{Cluster: r.Cluster, In: io.TeeReader(r.In, &input)}).localObjects(q); err != nil {
		return nil, nil, err
	}
	r.In = &input
	builder := resource.NewBuilder(r.Cluster).Unstructured().NamespaceParam(namespace).DefaultNamespace().
		LabelSelectorParam(q.Selector)
	infos, err := r.visitFiles(builder, enforced, q.Files)
	if err != nil {
		return nil, nil, Advise(err, namespace)
	}
	var applications []Application
	var gaps []string
	for _, info := range infos {
		a, err := w.application(ctx, info, cluster)
		if err != nil {
			gaps = append(gaps, fmt.Sprintf("%s: %v", nameOf(info.Mapping.GroupVersionKind, info.Name), err))
			continue
		}
		applications = append(applications, a)
	}
	return applications, gaps, nil
}

// application reads the live object of a manifest from the cluster.
func (w who) application(ctx context.Context, info *resource.Info, cluster *clusterFacts) (Application, error) {
	manifest, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return Application{}, fmt.Errorf("a %T is not an object", info.Object)
	}
	if manifest.GetName() == "" {
		return Application{}, errors.New("metadata.name is missing, but kubectl apply requires it; set it, or use kubectl create")
	}
	a := Application{Manifest: manifest, Resource: cluster.objects.Resource(info.Mapping.Resource)}
	a.ClusterScoped = info.Mapping.Scope.Name() == meta.RESTScopeNameRoot
	if !a.ClusterScoped {
		manifest.SetNamespace(info.Namespace)
		a.Resource = cluster.objects.Resource(info.Mapping.Resource).Namespace(info.Namespace)
	}
	live, err := a.Resource.Get(ctx, manifest.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		live = nil
	case err != nil:
		return a, Advise(err, info.Namespace)
	}
	err = w.complete(ctx, &a, live, cluster)
	return a, err
}

// complete sets the live object, or nil, and the facts about it.
func (w who) complete(ctx context.Context, a *Application, live *unstructured.Unstructured, known facts) (err error) {
	if live == nil {
		if a.Subject, err = newSubject(a.Manifest, w); err != nil {
			return err
		}
		a.Subject.Object = ownership.Object{}
	} else if a.Subject, err = newSubject(live, w); err != nil {
		return err
	}
	if err := a.Subject.addFacts(ctx, w, known); err != nil {
		return err
	}
	a.Mode, err = known.namespaceMode(ctx, a.Subject.Namespace)
	return err
}

func (r Reader) applicationsOfFiles(
	ctx context.Context, w who, q Query, live resource.FilenameOptions,
) ([]Application, error) {
	if slices.Contains(q.Files.Filenames, "-") && slices.Contains(live.Filenames, "-") {
		return nil, errors.New("manifests and live objects cannot both come from standard input; name a file for one of them")
	}
	sent, err := r.localObjects(q)
	if err != nil {
		return nil, err
	}
	stored, known, err := r.storedFacts(live)
	if err != nil {
		return nil, err
	}
	namespace := r.explicitNamespace()
	applications := make([]Application, 0, len(sent))
	for _, manifest := range sent {
		found, err := liveOf(manifest, stored, namespace)
		if err != nil {
			return nil, err
		}
		a := Application{Manifest: manifest}
		if err := w.complete(ctx, &a, found, known); err != nil {
			return nil, err
		}
		applications = append(applications, a)
	}
	return applications, nil
}

// storedFacts reads the live objects in files, and what they show about each other.
func (r Reader) storedFacts(files resource.FilenameOptions) ([]*unstructured.Unstructured, fileFacts, error) {
	stored, err := r.localObjects(Query{Files: files})
	if err != nil {
		return nil, fileFacts{}, err
	}
	known, err := newFileFacts(stored)
	return stored, known, err
}

// explicitNamespace returns the namespace that a flag selects, empty if none does.
func (r Reader) explicitNamespace() string {
	namespace, explicit, err := r.Cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil || !explicit {
		return ""
	}
	return namespace
}

func (r Reader) localObjects(q Query) ([]*unstructured.Unstructured, error) {
	builder := resource.NewBuilder(r.Cluster).Unstructured().Local().LabelSelectorParam(q.Selector)
	infos, err := r.visitFiles(builder, false, q.Files)
	if err != nil {
		return nil, err
	}
	return unstructuredOf(infos)
}

// liveOf finds the object of a manifest among the objects of files, and sets the manifest's namespace. If neither the manifest
// nor the caller specifies a namespace, the name must be unique.
func liveOf(
	manifest *unstructured.Unstructured, live []*unstructured.Unstructured, namespace string,
) (*unstructured.Unstructured, error) {
	kind := manifest.GroupVersionKind()
	if manifest.GetNamespace() == "" {
		manifest.SetNamespace(namespace)
	}
	var found *unstructured.Unstructured
	for _, o := range live {
		same := o.GroupVersionKind().GroupKind() == kind.GroupKind() && o.GetName() == manifest.GetName()
		if !same || manifest.GetNamespace() != "" && o.GetNamespace() != "" && o.GetNamespace() != manifest.GetNamespace() {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s: the files contain it in namespaces %s and %s; select one with -n",
				nameOf(kind, manifest.GetName()), found.GetNamespace(), o.GetNamespace())
		}
		found = o
	}
	if found != nil {
		manifest.SetNamespace(found.GetNamespace())
	}
	return found, nil
}
