package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// patience is the time in which a mode takes effect.
const patience = 2 * time.Second

// modeChange sets the mode annotation of namespaces, or removes it.
type modeChange struct {
	shared    *shared
	operation string // in the past tense, as kubectl prints it
	warn      bool
	mode      ownership.Mode // "" removes the annotation
}

func (s *shared) newEnable() *cobra.Command {
	m := &modeChange{shared: s, operation: "enabled", mode: ownership.ModeEnforce}
	c := m.command(&cobra.Command{
		Use:   "enable NAMESPACE...",
		Short: "Enable handoff in a namespace",
		Long: `Sets the annotation ownership-handoff.io/mode of namespaces to enforce: handoff then keeps the fields that autoscalers
and controllers own. With --warn, sets it to warn: handoff then only reports what it would keep, and changes nothing.
Nothing else in the namespaces changes. The label of that name on an object overrides it.

The command then checks that the mode is in effect, as kubectl handoff status shows it. The exit code is 1 if it is not in a
namespace: because the webhook is not installed or does not answer, its configuration excludes the namespace, or its label is missing.`,
		Example: `  # Report what handoff would keep
  kubectl handoff enable shop --warn

  # Keep it
  kubectl handoff enable shop`,
	})
	c.Flags().BoolVar(&m.warn, "warn", false, "Set mode warn instead of enforce.")
	return c
}

func (s *shared) newDisable() *cobra.Command {
	m := &modeChange{shared: s, operation: "disabled"}
	return m.command(&cobra.Command{
		Use:   "disable NAMESPACE...",
		Short: "Disable handoff in a namespace",
		Long: `Removes the annotation ownership-handoff.io/mode from namespaces. Nothing else in the namespaces changes; fields that
handoff has kept keep their values. Objects with the label of that name stay in the mode that it sets.`,
		Example: `  # Disable handoff in a namespace
  kubectl handoff disable shop`,
	})
}

// command completes a command that changes the mode.
func (m *modeChange) command(c *cobra.Command) *cobra.Command {
	c.Args, c.ValidArgsFunction = between(1, math.MaxInt, "requires a NAMESPACE"), m.shared.completeNamespaces
	c.RunE = func(c *cobra.Command, args []string) error { return m.run(c.Context(), args) }
	m.shared.writeFlags(c, m.operation)
	return c
}

// run changes all namespaces, also after an error about one of them.
func (m *modeChange) run(ctx context.Context, names []string) error {
	done, err := m.shared.done(m.operation)
	if err != nil {
		return err
	}
	if m.warn {
		m.mode = ownership.ModeWarn
		done = strings.Replace(done, m.operation, m.operation+" in mode warn", 1)
	}
	namespaces, err := source.Client(m.shared.cluster, source.Identity{Kind: corev1.SchemeGroupVersion.WithKind("Namespace")})
	if err != nil {
		return err
	}
	code := ExitOK
	for _, name := range names {
		err := m.change(ctx, namespaces, name, done)
		var effect exitError
		if errors.As(err, &effect) {
			code = max(code, int(effect))
		} else if err != nil {
			code = ExitError
			m.shared.report("error: ", strings.Join(strings.Fields(m.advise(err).Error()), " "))
		}
	}
	if code != ExitOK {
		return exitError(code)
	}
	return nil
}

// advise adds what a user can do who must not write namespaces.
func (m *modeChange) advise(err error) error {
	advised := source.Advise(err, "")
	switch {
	case apierrors.IsUnauthorized(err):
		return advised
	case !source.IsPermission(err) && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)):
		return fmt.Errorf("%w; if a policy fixes the labels of namespaces, it also refuses the annotation, because the label %s "+
			"follows it in the same write: allow this label, or install handoff with namespaceLabels.enabled=false", err, ownership.ModeLabel)
	case source.IsPermission(err) && m.mode != "":
		return fmt.Errorf("%w; or label the objects: kubectl label TYPE NAME %s=%s", advised, ownership.ModeLabel, m.mode)
	default:
		return advised
	}
}

// change sets or removes the annotation of a namespace by a merge patch, and checks that the mode is in effect.
func (m *modeChange) change(ctx context.Context, namespaces dynamic.ResourceInterface, name, done string) error {
	o, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	was, annotated := o.GetAnnotations()[ownership.ModeAnnotation]
	set := map[string]any{ownership.ModeAnnotation: m.mode}
	if m.mode == "" {
		set[ownership.ModeAnnotation] = nil // removes it
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": set}})
	if err != nil {
		return err
	}
	switch {
	case was == string(m.mode) && annotated == (m.mode != ""):
		done = "unchanged"
	case m.shared.isClientDryRun():
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", ownership.ModeAnnotation)
		if m.mode != "" {
			err = unstructured.SetNestedField(o.Object, string(m.mode), "metadata", "annotations", ownership.ModeAnnotation)
		}
	default:
		o, err = namespaces.Patch(ctx, name, types.MergePatchType, patch, m.shared.patchOptions(fieldManager))
	}
	if err != nil {
		return err
	}
	if err := m.shared.printObject(o, done); err != nil || m.mode == "" {
		return err
	}
	return m.check(ctx, o)
}

// check reports on standard error if the mode of a namespace is not in effect. The result of a dry run on the client has no label
// yet.
func (m *modeChange) check(ctx context.Context, o *unstructured.Unstructured) error {
	in, err := m.shared.installation(ctx, false)
	if err != nil {
		return err
	}
	if err := in.SetNamespace(o); err != nil {
		return err
	}
	if m.shared.dryRun != noDryRun && in.Unread != nil {
		return nil //nolint:nilerr // a dry run of an object would show the stored mode
	}
	ask := in.Effect
	if m.shared.dryRun != noDryRun { // nor would the dry run of an object show whether a pod answers
		ask = in.Mode
	}
	answer := ask(ctx, installation.Object{Namespace: o.GetName()})
	for end := time.Now().Add(patience); answer.Unanswered() && time.Now().Before(end); {
		time.Sleep(patience / 10) // the API server and the pods see the annotation a moment later
		in.Forget()
		answer = ask(ctx, installation.Object{Namespace: o.GetName()})
	}
	switch {
	case answer.On(), answer.Reason == installation.LabelMissing && m.shared.isClientDryRun():
		return nil
	case answer.Reason == installation.NotKnown:
		return m.shared.finish([]string{answer.Why})
	}
	m.shared.report("note: ", fmt.Sprintf("namespace %s: the mode has no effect: %s", o.GetName(), answer.Why))
	return exitError(ExitNegative)
}
