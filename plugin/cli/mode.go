package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

func (s *shared) newEnable() *cobra.Command {
	var warn bool
	c := &cobra.Command{
		Use:   "enable NAMESPACE...",
		Short: "Enable handoff in a namespace",
		Long: `Sets the annotation ownership-handoff.io/mode of namespaces to enforce: handoff then keeps the fields that autoscalers
and controllers own. With --warn, sets it to warn: handoff then only reports what it would keep, and changes nothing.
Nothing else in the namespaces changes. The label of that name on an object overrides it.

Unless it is a dry run, the command then checks that the mode is in effect, as kubectl handoff status shows it. The exit code is 1
if it is not in a namespace: because the webhook is not installed or does not answer, its configuration excludes the namespace, or
its label is missing.`,
		Example: `  # Report what handoff would keep
  kubectl handoff enable shop --warn

  # Keep it
  kubectl handoff enable shop`,
		RunE: func(c *cobra.Command, args []string) error {
			if warn {
				return s.setModes(c.Context(), args, optin.Warn, "enabled in mode warn")
			}
			return s.setModes(c.Context(), args, optin.Enforce, "enabled")
		},
		Args: between(1, math.MaxInt, "requires a NAMESPACE"),
	}
	c.Flags().BoolVar(&warn, "warn", false, "Set mode warn instead of enforce.")
	s.writeFlags(c)
	return c
}

func (s *shared) newDisable() *cobra.Command {
	c := &cobra.Command{
		Use:   "disable NAMESPACE...",
		Short: "Disable handoff in a namespace",
		Long: `Removes the annotation ownership-handoff.io/mode from namespaces. Nothing else in the namespaces changes; fields that
handoff has kept keep their values. Objects with the label of that name stay in the mode that it sets.`,
		Example: `  # Disable handoff in a namespace
  kubectl handoff disable shop`,
		RunE: func(c *cobra.Command, args []string) error { return s.setModes(c.Context(), args, "", "disabled") },
		Args: between(1, math.MaxInt, "requires a NAMESPACE"),
	}
	s.writeFlags(c)
	return c
}

// setModes sets or, for the mode "", removes the annotation of all namespaces, also after an error about one of them.
func (s *shared) setModes(ctx context.Context, names []string, mode optin.Mode, operation string) error {
	namespaces, err := source.Client(s.cluster, source.Identity{Kind: corev1.SchemeGroupVersion.WithKind("Namespace")})
	if err != nil {
		return err
	}
	worst := exitError(ExitOK)
	for _, name := range names {
		err := s.setMode(ctx, namespaces, name, mode, operation)
		var code exitError
		if err != nil && !errors.As(err, &code) {
			_, code = s.fail(adviseMode(err, mode)), ExitError
		}
		worst = max(worst, code)
	}
	if worst != ExitOK {
		return worst
	}
	return nil
}

// adviseMode adds what a user can do who must not write namespaces.
func adviseMode(err error, mode optin.Mode) error {
	advised := source.Advise(err, "")
	switch {
	case apierrors.IsUnauthorized(err):
	case source.IsPermission(err) && mode != "":
		return fmt.Errorf("%w; or label the objects: kubectl label TYPE NAME %s=%s", advised, optin.Label, mode)
	case !source.IsPermission(err) && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)):
		return fmt.Errorf("%w; if a policy fixes the labels of namespaces, it also refuses the annotation, because the label %s "+
			"follows it in the same write: allow this label, or install handoff with namespaceLabels.enabled=false", err, optin.Label)
	}
	return advised
}

// setMode sets or removes the annotation of a namespace by a merge patch, and checks that the mode is in effect.
func (s *shared) setMode(
	ctx context.Context, namespaces dynamic.ResourceInterface, name string, mode optin.Mode, operation string,
) error {
	o, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	was, annotated := o.GetAnnotations()[optin.Annotation]
	value := "null" // removes the annotation
	if mode != "" {
		value = strconv.Quote(string(mode))
	}
	done, options := s.done(operation), metav1.PatchOptions{FieldManager: installation.FieldManager}
	if s.dryRun == "server" {
		options.DryRun = []string{metav1.DryRunAll}
	}
	switch at := []string{"metadata", "annotations", optin.Annotation}; {
	case was == string(mode) && annotated == (mode != ""):
		done = "unchanged"
	case s.dryRun == "client" && mode == "":
		unstructured.RemoveNestedField(o.Object, at...)
	case s.dryRun == "client":
		err = unstructured.SetNestedField(o.Object, string(mode), at...)
	default:
		patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: %s}}}`, optin.Annotation, value)
		o, err = namespaces.Patch(ctx, name, types.MergePatchType, patch, options)
	}
	if err == nil {
		err = s.printObject(o, done)
	}
	if err != nil || mode == "" || s.dryRun != noDryRun {
		return err
	}
	return s.checkMode(ctx, o)
}

// patience is the time in which a mode takes effect.
const patience = 2 * time.Second

// checkMode reports on standard error if the mode of a namespace is not in effect.
func (s *shared) checkMode(ctx context.Context, o *unstructured.Unstructured) error {
	in, err := s.installation(ctx)
	if err != nil {
		return err
	}
	in.SetNamespace(o)
	answer := in.Effect(ctx, installation.Object{Namespace: o.GetName()})
	for end := time.Now().Add(patience); answer.Unanswered() && time.Now().Before(end); {
		time.Sleep(patience / 10) // the API server and the pods see the annotation a moment later
		in.Forget()
		answer = in.Effect(ctx, installation.Object{Namespace: o.GetName()})
	}
	switch {
	case answer.On():
		return nil
	case answer.Reason == installation.NotKnown:
		return s.finish([]string{answer.Why}, false)
	}
	s.report("note: ", fmt.Sprintf("namespace %s: the mode has no effect: %s", o.GetName(), answer.Why))
	return exitError(ExitNegative)
}
