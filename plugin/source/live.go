package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"

	"github.com/ownership-handoff/handoff/ownership"
)

// Live reads live objects one by one, as manifests identify them.
type Live struct{ known *facts }

// Identity is what a manifest says about which object it describes.
type Identity struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// String returns the name of the object as kubectl prints it, such as deployment.apps/web.
func (i Identity) String() string { return nameOf(i.Kind, i.Name) }

// Live returns a reader of live objects from the cluster or, if given, from files of live objects.
func (r Reader) Live(ctx context.Context, from resource.FilenameOptions) (*Live, error) {
	known, err := r.open(ctx, from)
	return &Live{known}, err
}

// Read returns the live object with the facts about its owners; ok is false if it does not exist. The error is one line that
// includes a remedy.
func (l *Live) Read(ctx context.Context, id Identity) (s Subject, ok bool, err error) {
	live, err := l.known.from.get(ctx, id, l.known.namespace)
	if err != nil || live == nil {
		return s, false, err
	}
	s, err = l.known.subject(ctx, live)
	if l.known.cluster == nil && len(s.Object.ManagedFields()) == 0 { // kubectl get removes them by default
		s.gap("no managedFields, so the owners of its fields are unknown; export it with kubectl get -o yaml --show-managed-fields")
	}
	return s, err == nil, err
}

// Application is a manifest and the live object that it is applied to. The zero Object means that there is no live object.
type Application struct {
	Subject  Subject
	Manifest *unstructured.Unstructured
	// ClusterScoped reports whether the object is cluster-scoped.
	ClusterScoped bool
	// Mode is the mode of its namespace in the files of live objects, empty if they do not contain it.
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
	manifests, err := r.inFiles(ctx, q) // first: the errors of malformed files are clearer than those of a missing cluster
	if err != nil {
		return nil, nil, err
	}
	live, err := r.Live(ctx, files)
	if err != nil {
		return nil, nil, err
	}
	for _, manifest := range manifests {
		a, err := live.application(ctx, manifest)
		switch {
		case err != nil && (live.known.cluster == nil || IsUnreachable(err)):
			return nil, nil, err
		case err != nil:
			gaps = append(gaps, fmt.Sprintf("%s: %v", nameOf(manifest.GroupVersionKind(), manifest.GetName()), err))
		default:
			applications = append(applications, a)
		}
	}
	return applications, gaps, nil
}

// application reads the live object of a manifest, and sets the manifest's namespace.
func (l *Live) application(ctx context.Context, manifest *unstructured.Unstructured) (a Application, err error) {
	a.Manifest = manifest
	if l.known.cluster != nil {
		if err := l.place(&a); err != nil {
			return a, err
		}
	}
	id := Identity{manifest.GroupVersionKind(), manifest.GetNamespace(), manifest.GetName()}
	live, err := l.known.from.get(ctx, id, l.known.namespace)
	switch {
	case err != nil:
		return a, err
	case l.known.cluster == nil && live != nil:
		manifest.SetNamespace(live.GetNamespace())
	case l.known.cluster == nil && id.Namespace == "":
		manifest.SetNamespace(l.known.namespace)
	}
	if live != nil {
		a.Subject, err = l.known.subject(ctx, live)
	} else if a.Subject, err = newSubject(manifest, l.known.who); err == nil {
		a.Subject.Object = ownership.Object{}
		err = l.known.complete(ctx, &a.Subject)
	}
	if a.ClusterScoped {
		a.Subject.Namespace = "" // the API server ignores that of the manifest
	}
	if l.known.cluster == nil && err == nil && a.Subject.Namespace != "" {
		namespaces := Identity{Kind: namespaceKind().WithVersion("v1"), Name: a.Subject.Namespace}
		namespace, err := l.known.from.get(ctx, namespaces, "")
		if err == nil && namespace != nil {
			a.Mode = modeOf(namespace)
		}
	}
	return a, err
}

// place sets where the API server stores the object of a manifest, as kubectl apply does.
func (l *Live) place(a *Application) error {
	id := Identity{a.Manifest.GroupVersionKind(), a.Manifest.GetNamespace(), a.Manifest.GetName()}
	if id.Name == "" {
		return errors.New("metadata.name is missing, but kubectl apply requires it; set it, or use kubectl create")
	}
	client, namespaced, err := l.known.cluster.client(id, l.known.namespace)
	a.Resource, a.ClusterScoped = client, !namespaced
	switch {
	case err != nil:
		return err
	case client == nil:
		return fmt.Errorf("the API server does not serve kind %s in version %s; create its CustomResourceDefinition first, "+
			"or see kubectl api-resources", id.Kind.Kind, id.Kind.GroupVersion())
	case namespaced && id.Namespace == "":
		a.Manifest.SetNamespace(l.known.namespace)
	case namespaced && l.known.explicit && id.Namespace != l.known.namespace: // as kubectl
		return fmt.Errorf("the manifest has namespace %s, but -n selects %s; use -n %s, or omit it", id.Namespace, l.known.namespace, id.Namespace)
	}
	return nil
}
