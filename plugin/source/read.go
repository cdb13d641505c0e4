// Package source reads objects, and the autoscalers, definitions and namespaces that affect them, from a cluster or from files.
// Information that cannot be read is not an error but a gap, which makes the results partial.
package source

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/config"
)

// Reader reads subjects.
type Reader struct {
	// Cluster provides the clients. It is not used if the query has files.
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
func (r Reader) Read(ctx context.Context, q Query) (Reading, error) {
	read := r.readCluster
	if q.hasFiles() {
		read = r.readFiles
	}
	objects, from, gaps, err := read(ctx, q)
	if err != nil {
		return Reading{}, err
	}
	known, err := newFacts(from, r.Configuration)
	if err != nil {
		return Reading{}, err
	}
	known.everywhere = q.AllNamespaces
	reading := Reading{Gaps: gaps}
	for _, o := range objects {
		s, err := known.subject(ctx, o)
		if err != nil {
			return reading, err
		}
		reading.Subjects = append(reading.Subjects, s)
	}
	return reading, nil
}

func (q Query) hasFiles() bool { return len(q.Files.Filenames) > 0 || q.Files.Kustomize != "" }

func unstructuredOf(infos []*resource.Info) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, len(infos))
	for i, info := range infos {
		o, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("%s is a %T, not an object", info.ObjectName(), info.Object)
		}
		objects[i] = o
	}
	return objects, nil
}
