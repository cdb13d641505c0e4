package source

import (
	"context"
	"fmt"
	"io"
	"time"

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
	// Cluster leads to the cluster. It is not asked for anything where the query names files.
	Cluster genericclioptions.RESTClientGetter
	// In is what the file name "-" stands for.
	In            io.Reader
	Configuration config.HandoffConfiguration
}

// Query says which objects to read.
type Query struct {
	// Files are read instead of a cluster where there are any.
	Files resource.FilenameOptions
	// Objects are TYPE, TYPE NAME... or TYPE/NAME..., as kubectl get takes them; of files, none or one TYPE/NAME.
	Objects       []string
	Selector      string
	AllNamespaces bool
}

// Reading is what has been read.
type Reading struct {
	Subjects []Subject
	// Gaps say what else should have been read and could not be.
	Gaps []string
}

// facts are what a subject's surroundings say about it. What they do not know, they note as a gap of the subject.
type facts interface {
	scalePath(ctx context.Context, s *Subject) (fieldpath.Path, error)
	// autoscalers are those in its namespace.
	autoscalers(ctx context.Context, s *Subject) ([]autoscalingv2.HorizontalPodAutoscaler, error)
	// namespaceMode is the mode of a namespace; UnknownMode where that is not known, which is no gap: few may read namespaces.
	namespaceMode(ctx context.Context, namespace string) (ownership.Mode, error)
}

// Read reads the objects of a query. The error is one line, and says what to do.
func (r Reader) Read(ctx context.Context, q Query) (Reading, error) {
	read := r.readCluster
	if len(q.Files.Filenames) > 0 || q.Files.Kustomize != "" {
		read = r.readFiles
	}
	objects, around, gaps, err := read(q)
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
		if err := s.lookAround(ctx, around); err != nil {
			return reading, err
		}
		reading.Subjects = append(reading.Subjects, s)
	}
	return reading, nil
}

// lookAround finds out what its surroundings say about a subject.
func (s *Subject) lookAround(ctx context.Context, around facts) (err error) {
	if s.Context.Scale, err = around.scalePath(ctx, s); err != nil || s.Context.Scale == nil {
		return err
	}
	hpas, err := around.autoscalers(ctx, s)
	if err != nil {
		return err
	}
	s.targetedBy(hpas)
	return nil
}

// targetedBy notes which of the autoscalers of its namespace targets a subject.
func (s *Subject) targetedBy(hpas []autoscalingv2.HorizontalPodAutoscaler) {
	s.Context.Autoscaler, s.Desired = scale.Targeting(hpas, s.Kind.Group, s.Kind.Kind, s.Name)
	for i := range hpas {
		one, _ := scale.Targeting(hpas[i:i+1], s.Kind.Group, s.Kind.Kind, s.Name)
		if at := hpas[i].Status.LastScaleTime; at != nil && one == s.Context.Autoscaler && one != "" {
			s.Scaled = at.UTC().Format(time.RFC3339)
		}
	}
}

func unstructuredOf(infos []*resource.Info) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, len(infos))
	for i, info := range infos {
		o, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("%s is a %T and no object", info.ObjectName(), info.Object)
		}
		objects[i] = o
	}
	return objects, nil
}
