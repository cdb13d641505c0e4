// Package source reads objects, and the autoscalers, definitions and namespaces that affect them, from a cluster or from files.
// Information that cannot be read is not an error but a gap, which makes the results partial.
package source

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// Reader reads objects, with what determines the owners of their fields. The scalers of each namespace and the scale field of each kind
// are read once.
type Reader struct {
	// Cluster provides the clients and the namespace. For objects in files, only a namespace that a flag selects is used.
	Cluster genericclioptions.RESTClientGetter
	// Files are read instead of the cluster if there are any, and In for the file name "-".
	Files         resource.FilenameOptions
	In            io.Reader
	Configuration config.HandoffConfiguration
	// Selector and AllNamespaces select objects, as in kubectl get.
	Selector      string
	AllNamespaces bool

	from origin
	// cluster is from, nil if objects are read from files.
	cluster *clusterOrigin
	// namespace is that of objects without one: in files, only if a flag selects it. A flag also forbids others.
	namespace string
	explicit  bool
	selector  labels.Selector

	managers ownership.Managers
	rules    ownership.Rules
	kinds    []scale.Kind // of scalers
	fields   map[schema.GroupVersionKind]scaleField
	scalers  map[string]*scalers // by namespace
}

// scaleField is the scale field of a kind: in one version, and in any. Without a path and a gap, the kind has none; the gap says why it
// is unknown.
type scaleField struct {
	path fieldpath.Path
	in   ownership.ScalePaths
	gap  string
}

// origin is where objects are read from: a cluster, or files. An empty namespace stands for all.
type origin interface {
	// chosen returns the objects that a reader selects. If only some can be read, the gaps are about the others.
	chosen(r *Reader, names []string) (objects []*unstructured.Unstructured, gaps []string, err error)
	// get returns an object, nil if it does not exist. A namespace that is missing in the identity is the given one.
	get(ctx context.Context, id Identity, namespace string) (*unstructured.Unstructured, error)
	// list calls visit for the objects of a kind that a selector matches. Complete reports whether none is missing: all have been
	// read, or the kind is not installed. Why says why some could be missing, empty if that is not worth a gap.
	list(
		ctx context.Context, kind schema.GroupKind, namespace string, selector labels.Selector, visit visitObject,
	) (complete bool, why string, err error)
	// kind returns the resource of a kind, nil if there is none or, then with a gap, if that is unknown.
	kind(of schema.GroupKind) (resource *Resource, gap string)
	// surveyed returns the kinds of the given types or, without any, all that can be scaled or, in files, all. The gaps are about kinds
	// that are unknown.
	surveyed(types []string) (kinds []*Resource, gaps []string, err error)
}

type visitObject func(o *unstructured.Unstructured) error

// Scalable is a type that stands for all kinds with a scale subresource.
const Scalable = "*"

// Offline reports whether objects are read from files instead of a cluster.
func (r Reader) Offline() bool { return len(r.Files.Filenames) > 0 || r.Files.Kustomize != "" }

// unstructuredOf returns the objects that an unstructured builder has read.
func unstructuredOf(infos []*resource.Info) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, len(infos))
	for i, info := range infos {
		objects[i] = info.Object.(*unstructured.Unstructured) //nolint:forcetypeassert // of the builder
	}
	return objects
}
