// Package source reads objects, and the autoscalers, definitions and namespaces that affect them, from a cluster or from files.
// Information that cannot be read is not an error but a gap, which makes the results partial.
package source

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/config"
)

// Reader reads subjects.
type Reader struct {
	// Cluster provides the clients and the namespace. For objects in files, only a namespace that a flag selects is used.
	Cluster genericclioptions.RESTClientGetter
	// In is read for the file name "-".
	In            io.Reader
	Configuration config.HandoffConfiguration
}

// Query selects the objects to read.
type Query struct {
	// Files are read instead of a cluster if there are any.
	Files resource.FilenameOptions
	// Objects are TYPE, TYPE NAME... or TYPE/NAME..., as in kubectl get; for files, none or one TYPE/NAME.
	Objects       []string
	Selector      string
	AllNamespaces bool
}

// Reading is the result of a query.
type Reading struct {
	Subjects []Subject
	// Gaps describe what could not be read.
	Gaps []string
}

// Read reads the objects of a query. The error is one line that includes a remedy.
func (r Reader) Read(ctx context.Context, q Query) (reading Reading, err error) {
	known, err := r.open(ctx, q.Files)
	if err != nil {
		return reading, err
	}
	known.everywhere = q.AllNamespaces
	objects, gaps, err := known.from.chosen(q, known.namespace)
	reading.Gaps = gaps
	for _, o := range objects {
		s, err := known.subject(ctx, o)
		if err != nil {
			return reading, err
		}
		reading.Subjects = append(reading.Subjects, s)
	}
	return reading, err
}

// open opens files or, without any, the cluster.
func (r Reader) open(ctx context.Context, from resource.FilenameOptions) (*facts, error) {
	f := &facts{scales: map[schema.GroupVersionKind]scaleField{}, byNamespace: map[string]*scalers{}}
	var err error
	if f.who, err = whoOf(r.Configuration); err != nil {
		return nil, err
	}
	f.namespace, f.explicit, err = r.Cluster.ToRawKubeConfigLoader().Namespace()
	if len(from.Filenames) > 0 || from.Kustomize != "" {
		if err != nil || !f.explicit {
			f.namespace = ""
		}
		if f.from, err = r.newFiles(ctx, from); err != nil {
			return nil, err
		}
		return f, nil
	}
	if err == nil {
		f.cluster, err = newCluster(r.Cluster)
		f.from = f.cluster
	}
	if err != nil {
		return nil, Advise(err, f.namespace)
	}
	return f, nil
}
