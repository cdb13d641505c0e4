package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/source"
)

// modeChange sets the mode annotation of namespaces, or removes it.
type modeChange struct {
	*shared
	operation string // in the past tense, as kubectl prints it
	mode      string // empty removes the annotation
	dryRun    string
	printing  *genericclioptions.PrintFlags
}

func (m *modeChange) add(c *cobra.Command) {
	modes := []string{"none", "server", "client"}
	c.Flags().StringVar(&m.dryRun, "dry-run", "none",
		`One of "none", "server" or "client": client only prints what would be sent, server sends it and has it not stored.`)
	must(c.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(modes, noFiles)))
	m.printing = genericclioptions.NewPrintFlags(m.operation)
	m.printing.AddFlags(c)
}

func (m *modeChange) run(ctx context.Context, names []string) error {
	done := map[string]string{"none": "%s", "server": "%s (server dry run)", "client": "%s (dry run)"}[m.dryRun]
	if done == "" {
		return fmt.Errorf("--dry-run=%s is not known; write none, server or client", m.dryRun)
	}
	if m.mode == string(ownership.ModeWarn) {
		done = "%s in mode warn" + done[len("%s"):]
	}
	namespaces, err := m.namespaces()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := m.change(ctx, namespaces, name, done); err != nil {
			return source.Advise(err, "")
		}
	}
	return nil
}

func (m *modeChange) change(ctx context.Context, namespaces dynamic.ResourceInterface, name, done string) error {
	o, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	was, annotated := o.GetAnnotations()[ownership.ModeAnnotation]
	if was == m.mode && annotated == (m.mode != "") {
		return m.say(o, "unchanged")
	}
	if m.dryRun == "client" {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[ownership.ModeAnnotation] = m.mode
		if m.mode == "" {
			delete(annotations, ownership.ModeAnnotation)
		}
		o.SetAnnotations(annotations)
		return m.say(o, fmt.Sprintf(done, m.operation))
	}
	if o, err = m.patch(ctx, namespaces, name); err != nil {
		return err
	}
	return m.say(o, fmt.Sprintf(done, m.operation))
}

// patch sends a merge patch of the one annotation.
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
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if m.dryRun == "server" {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return namespaces.Patch(ctx, name, types.MergePatchType, patch, options)
}

func (m *modeChange) say(o *unstructured.Unstructured, operation string) error {
	m.printing.NamePrintFlags.Operation = operation
	printer, err := m.printing.ToPrinter()
	if err != nil {
		return err
	}
	return printer.PrintObj(o, m.Out)
}

// namespaces returns a client of namespaces.
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
