package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// modeChange sets the mode annotation of namespaces, or removes it.
type modeChange struct {
	shared    *shared
	flags     writeFlags
	operation string // in the past tense, as kubectl prints it
	mode      string // "" removes the annotation
}

func (m *modeChange) add(c *cobra.Command) { m.flags.add(c, m.operation) }

func (m *modeChange) run(ctx context.Context, names []string) error {
	done, err := m.flags.done(m.operation)
	if err != nil {
		return err
	}
	if m.mode == string(ownership.ModeWarn) {
		done = strings.Replace(done, m.operation, m.operation+" in mode warn", 1)
	}
	namespaces, err := m.shared.namespaces()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := m.change(ctx, namespaces, name, done); err != nil {
			return source.Advise(err, "")
		}
	}
	if m.mode == "" || !m.flags.isForPeople() {
		return nil
	}
	return m.shared.noteUninstalled(ctx)
}

func (m *modeChange) change(ctx context.Context, namespaces dynamic.ResourceInterface, name, done string) error {
	o, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	was, annotated := o.GetAnnotations()[ownership.ModeAnnotation]
	if was == m.mode && annotated == (m.mode != "") {
		return m.flags.printObject(m.shared.env.IOStreams.Out, o, "unchanged")
	}
	if m.flags.isClientDryRun() {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[ownership.ModeAnnotation] = m.mode
		if m.mode == "" {
			delete(annotations, ownership.ModeAnnotation)
		}
		o.SetAnnotations(annotations)
		return m.flags.printObject(m.shared.env.IOStreams.Out, o, done)
	}
	if o, err = m.patch(ctx, namespaces, name); err != nil {
		return err
	}
	return m.flags.printObject(m.shared.env.IOStreams.Out, o, done)
}

// patch sends a merge patch that sets or removes the annotation.
func (m *modeChange) patch(
	ctx context.Context, namespaces dynamic.ResourceInterface, name string,
) (*unstructured.Unstructured, error) {
	var mode any // null removes it
	if m.mode != "" {
		mode = m.mode
	}
	annotations := map[string]any{"annotations": map[string]any{ownership.ModeAnnotation: mode}}
	patch, err := json.Marshal(map[string]any{"metadata": annotations})
	if err != nil {
		return nil, err
	}
	return namespaces.Patch(ctx, name, types.MergePatchType, patch, m.flags.patchOptions(fieldManager))
}

// namespaces returns a client for namespaces.
func (s *shared) namespaces() (dynamic.ResourceInterface, error) {
	restConfig, err := s.cluster.ToRESTConfig()
	if err != nil {
		return nil, source.Advise(err, "")
	}
	objects, err := dynamic.NewForConfig(restConfig)
	if err != nil {
		return nil, err
	}
	return objects.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")), nil
}
