package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
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
and controllers own. In mode warn, it only reports what it would keep. Nothing else in the namespaces changes.

The command then checks that the mode is in effect, unless it is a dry run. If it is not, the exit code is 1.`,
		Example: `  # Report what handoff would keep
  kubectl handoff enable shop --warn

  # Keep it
  kubectl handoff enable shop`,
		RunE: func(c *cobra.Command, args []string) error {
			return s.setModes(c.Context(), args, map[bool]optin.Mode{false: optin.Enforce, true: optin.Warn}[warn])
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
		RunE: func(c *cobra.Command, args []string) error { return s.setModes(c.Context(), args, "") },
		Args: between(1, math.MaxInt, "requires a NAMESPACE"),
	}
	s.writeFlags(c)
	return c
}

// setModes sets or, for the mode "", removes the annotation of all namespaces, also after an error about one of them. Then it reports
// where the mode is not in effect.
func (s *shared) setModes(ctx context.Context, names []string, mode optin.Mode) error {
	reader, err := source.Reader{Cluster: s.cluster}.Open()
	if err != nil {
		return err
	}
	namespaces, err := reader.Client(source.Identity{Kind: corev1.SchemeGroupVersion.WithKind("Namespace")})
	if err != nil {
		return err
	}
	var set []string
	for _, name := range names {
		if err := s.setMode(ctx, namespaces, name, mode); err != nil {
			s.failures = append(s.failures, adviseMode(err, mode))
		} else {
			set = append(set, name)
		}
	}
	if len(set) == 0 || mode == "" || s.dryRun != "none" {
		return nil
	}
	statuses, err := s.statuses(ctx, set)
	for end := time.Now().Add(patience); slices.ContainsFunc(statuses, modeStatus.Unanswered) && time.Now().Before(end); {
		time.Sleep(patience / 10) // the API server and the pods see the annotation a moment later
		statuses, err = s.statuses(ctx, set)
	}
	s.report("note: ", s.judge(statuses)...)
	return err
}

// patience is the time in which a mode takes effect.
const patience = 2 * time.Second

// adviseMode adds what a user can do who must not write namespaces.
func adviseMode(err error, mode optin.Mode) error {
	advised := source.Advise(err, "")
	switch {
	case source.IsPermission(err) && mode != "" && !apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w; or label the objects: kubectl label TYPE NAME %s=%s", advised, optin.Label, mode)
	case !source.IsPermission(err) && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)):
		return fmt.Errorf("%w; if a policy fixes the labels of namespaces, it also refuses the annotation, because the label %s "+
			"follows it in the same write: allow this label, or install handoff with namespaceLabels.enabled=false", err, optin.Label)
	}
	return advised
}

// setMode sets or removes the annotation of a namespace by a merge patch.
func (s *shared) setMode(ctx context.Context, namespaces dynamic.ResourceInterface, name string, mode optin.Mode) error {
	o, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	was, annotated := o.GetAnnotations()[optin.Annotation]
	value := map[bool]string{true: strconv.Quote(string(mode)), false: "null"}[mode != ""] // null removes the annotation
	done := s.done(map[optin.Mode]string{optin.Enforce: "enabled", optin.Warn: "enabled in mode warn", "": "disabled"}[mode])
	switch at := []string{"metadata", "annotations", optin.Annotation}; {
	case was == string(mode) && annotated == (mode != ""):
		done = "unchanged"
	case s.dryRun == "client" && mode == "":
		unstructured.RemoveNestedField(o.Object, at...)
	case s.dryRun == "client":
		err = unstructured.SetNestedField(o.Object, string(mode), at...)
	default:
		options := metav1.PatchOptions{
			FieldManager: installation.FieldManager, DryRun: map[string][]string{"server": {metav1.DryRunAll}}[s.dryRun],
		}
		patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: %s}}}`, optin.Annotation, value)
		o, err = namespaces.Patch(ctx, name, types.MergePatchType, patch, options)
	}
	if err != nil {
		return err
	}
	return s.printObject(o, done)
}
