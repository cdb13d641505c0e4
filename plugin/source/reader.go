// Package source reads objects, and the autoscalers, definitions and namespaces that affect them, from a cluster or from files.
// Information that cannot be read is not an error but a gap, which makes the results partial.
package source

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/config"
)

// Reader reads objects, with what determines the owners of their fields.
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
}

// Offline reports whether objects are read from files instead of a cluster.
func (r Reader) Offline() bool { return len(r.Files.Filenames) > 0 || r.Files.Kustomize != "" }

// Read reads the objects that are named as in kubectl get: TYPE, TYPE NAME... or TYPE/NAME...; in files, none or one TYPE/NAME. The
// gaps are about what could not be read. The error is one line that includes a remedy.
func (r Reader) Read(ctx context.Context, names ...string) (subjects []Subject, gaps []string, err error) {
	live, err := r.Live(ctx)
	if err != nil {
		return nil, nil, err
	}
	objects, gaps, err := live.from.chosen(r, names, live.namespace)
	for _, o := range objects {
		s, err := live.subject(ctx, o)
		if err != nil {
			return subjects, gaps, err
		}
		subjects = append(subjects, s)
	}
	return subjects, gaps, err
}

// Manifests reads the manifests in files that match the selector.
func (r Reader) Manifests(ctx context.Context, from resource.FilenameOptions) ([]*unstructured.Unstructured, error) {
	return inFiles(ctx, r.In, from, r.Selector)
}

// Live opens the files or, without any, the cluster.
func (r Reader) Live(ctx context.Context) (*Live, error) {
	l := &Live{
		managers: r.Configuration.Managers(), everywhere: r.AllNamespaces,
		fields: map[schema.GroupVersionKind]scaleField{}, scalers: map[string]*scalers{},
	}
	var err error
	if l.rules, err = r.Configuration.ParsedRules(); err != nil {
		return nil, err
	}
	if l.kinds, err = r.Configuration.ScalerKinds(); err != nil {
		return nil, err
	}
	l.namespace, l.explicit, err = r.Cluster.ToRawKubeConfigLoader().Namespace()
	if r.Offline() {
		if err != nil || !l.explicit {
			l.namespace = ""
		}
		l.from, err = r.newFiles(ctx)
		return l, err
	}
	if err == nil {
		l.cluster, err = newCluster(r.Cluster)
		l.from = l.cluster
	}
	if err != nil {
		return nil, Advise(err, l.namespace)
	}
	return l, nil
}
