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

// Application is a manifest, and the live object that it would be applied to. The zero Object stands for one that is not
// there.
type Application struct {
	Subject

	Manifest *unstructured.Unstructured
	// ClusterScoped says that the object is in no namespace.
	ClusterScoped bool
	// Mode is that of the namespace, or UnknownMode.
	Mode ownership.Mode
	// Resource leads to the object in the cluster; nil where live objects are read from files.
	Resource dynamic.ResourceInterface
}

// ReadApplications reads the manifests of a query's files, of which its selector chooses, and to each its live object: from the
// cluster or, where there are any, from the files of live objects. What cannot be read of single objects is a gap.
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
	around, err := newClusterFacts(r.Cluster, false)
	if err != nil {
		return nil, nil, Advise(err, namespace)
	}
	// Read without the cluster first, for what is wrong with a file is told better where nothing else can be.
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
		a, err := w.application(ctx, info, around)
		if err != nil {
			gaps = append(gaps, fmt.Sprintf("%s: %v", nameOf(info.Mapping.GroupVersionKind, info.Name), err))
			continue
		}
		applications = append(applications, a)
	}
	return applications, gaps, nil
}

// application reads the live object of a manifest from the cluster.
func (w who) application(ctx context.Context, info *resource.Info, around *clusterFacts) (Application, error) {
	manifest, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return Application{}, fmt.Errorf("it is a %T and no object", info.Object)
	}
	if manifest.GetName() == "" {
		return Application{}, errors.New("it has no metadata.name, which kubectl apply requires; give it one, or use kubectl create")
	}
	a := Application{Manifest: manifest, Resource: around.objects.Resource(info.Mapping.Resource)}
	a.ClusterScoped = info.Mapping.Scope.Name() == meta.RESTScopeNameRoot
	if !a.ClusterScoped {
		manifest.SetNamespace(info.Namespace)
		a.Resource = around.objects.Resource(info.Mapping.Resource).Namespace(info.Namespace)
	}
	live, err := a.Resource.Get(ctx, manifest.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		live = nil
	case err != nil:
		return a, Advise(err, info.Namespace)
	}
	err = w.complete(ctx, &a, live, around)
	return a, err
}

// complete adds the live object, nil for none, and what is known around it.
func (w who) complete(ctx context.Context, a *Application, live *unstructured.Unstructured, around facts) (err error) {
	if live == nil {
		if a.Subject, err = newSubject(a.Manifest, w); err != nil {
			return err
		}
		a.Object = ownership.Object{}
	} else if a.Subject, err = newSubject(live, w); err != nil {
		return err
	}
	if err := a.lookAround(ctx, around); err != nil {
		return err
	}
	a.Mode, err = around.namespaceMode(ctx, a.Namespace)
	return err
}

func (r Reader) applicationsOfFiles(
	ctx context.Context, w who, q Query, live resource.FilenameOptions,
) ([]Application, error) {
	if slices.Contains(q.Files.Filenames, "-") && slices.Contains(live.Filenames, "-") {
		return nil, errors.New("manifests and live objects cannot both be the standard input; write a file's name for one of them")
	}
	sent, err := r.localObjects(q)
	if err != nil {
		return nil, err
	}
	stored, err := r.localObjects(Query{Files: live})
	if err != nil {
		return nil, err
	}
	around, err := newFileFacts(stored)
	if err != nil {
		return nil, err
	}
	namespace := ""
	if given, explicit, err := r.Cluster.ToRawKubeConfigLoader().Namespace(); err == nil && explicit {
		namespace = given
	}
	applications := make([]Application, 0, len(sent))
	for _, manifest := range sent {
		found, err := liveOf(manifest, stored, namespace)
		if err != nil {
			return nil, err
		}
		a := Application{Manifest: manifest}
		if err := w.complete(ctx, &a, found, around); err != nil {
			return nil, err
		}
		applications = append(applications, a)
	}
	return applications, nil
}

func (r Reader) localObjects(q Query) ([]*unstructured.Unstructured, error) {
	builder := resource.NewBuilder(r.Cluster).Unstructured().Local().LabelSelectorParam(q.Selector)
	infos, err := r.visitFiles(builder, false, q.Files)
	if err != nil {
		return nil, err
	}
	return unstructuredOf(infos)
}

// liveOf finds the object of a manifest among objects of files, and gives the manifest its namespace. Where neither the
// manifest nor the caller names one, the name has to be enough.
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
			return nil, fmt.Errorf("%s: the files hold it in the namespaces %s and %s; choose one with -n",
				nameOf(kind, manifest.GetName()), found.GetNamespace(), o.GetNamespace())
		}
		found = o
	}
	if found != nil {
		manifest.SetNamespace(found.GetNamespace())
	}
	return found, nil
}
