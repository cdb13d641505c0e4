package source

import (
	"context"
	"fmt"
	"io"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
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

// facts provide information about a subject from other objects. They add a gap to the subject if something is unknown.
type facts interface {
	scalePath(ctx context.Context, s *Subject) (fieldpath.Path, error)
	// autoscalers returns the autoscalers in the subject's namespace.
	autoscalers(ctx context.Context, s *Subject) ([]autoscalingv2.HorizontalPodAutoscaler, error)
	// scalers returns the other scalers of these kinds in the subject's namespace.
	scalers(ctx context.Context, s *Subject, kinds []scale.Kind) (scalerList, error)
	// namespaceMode returns the mode of a namespace, or UnknownMode. That is not a gap, because few users can read namespaces.
	namespaceMode(ctx context.Context, namespace string) (ownership.Mode, error)
}

// Read reads the objects of a query. The error is one line that includes a remedy.
func (r Reader) Read(ctx context.Context, q Query) (Reading, error) {
	read := r.readCluster
	if len(q.Files.Filenames) > 0 || q.Files.Kustomize != "" {
		read = r.readFiles
	}
	objects, known, gaps, err := read(q)
	if err != nil {
		return Reading{}, err
	}
	w, err := whoOf(r.Configuration)
	if err != nil {
		return Reading{}, err
	}
	reading := Reading{Gaps: gaps}
	for _, o := range objects {
		s, err := newSubject(o, w)
		if err != nil {
			return reading, err
		}
		if err := s.addFacts(ctx, w, known); err != nil {
			return reading, err
		}
		reading.Subjects = append(reading.Subjects, s)
	}
	return reading, nil
}

// addFacts adds the scale field and the scaler to a subject.
func (s *Subject) addFacts(ctx context.Context, w who, known facts) (err error) {
	path, err := known.scalePath(ctx, s)
	s.setScale(path)
	if err != nil || path == nil {
		return err
	}
	hpas, err := known.autoscalers(ctx, s)
	if err != nil {
		return err
	}
	scalers, err := known.scalers(ctx, s, w.scalers)
	if err != nil {
		return err
	}
	s.scaledBy(hpas, scalers)
	return nil
}

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
