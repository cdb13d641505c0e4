package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/plugin/audit"
)

func (s *shared) newAudit() *cobra.Command {
	var failOnRisk bool
	c := &cobra.Command{
		Use:   "audit [TYPE... [-A] | -f FILE]",
		Short: "Find objects that the next apply would break",
		Long: `Finds objects that work now and that the next apply of an unchanged manifest would break.

Risks:
  replicas          an autoscaler scales the object, and its manifest still sets the replicas, even to the value that they
                    have now: according to the last-applied annotation, or to managedFields, as with Helm 3
  no-target         a HorizontalPodAutoscaler or another scaler, such as a ScaledObject, scales nothing: its target does not
                    exist or cannot be scaled, or its reference is invalid
  two-autoscalers   several autoscalers target one object

NEXT APPLY shows what an apply of the same manifest does. HANDOFF shows how handoff responds: "keeps 10", or why not, as "off:
would keep 10". Lines below the table list values that other managers have written in fields of the manifest, which are no
risk: the next apply overwrites them.

Without a TYPE, the command audits all kinds with a scale subresource, but of ReplicaSets only the targets of autoscalers.

With --fail-on-risk, the exit code is 1 even for a risk that handoff prevents while it runs, and 3 if an object could be at
risk: an autoscaler has taken over its replicas from Helm or server-side apply, so nothing shows whether the manifest sets
them, and handoff does not keep them.`,
		Example: `  # Audit all namespaces
  kubectl handoff audit -A

  # Audit other types for values that the next apply overwrites
  kubectl handoff audit deployments,configmaps,services -n shop

  # Audit files, without a cluster
  kubectl get deployments,hpa,namespaces -A -o yaml --show-managed-fields > shop.yaml
  kubectl handoff audit -f shop.yaml`,
		RunE: func(c *cobra.Command, args []string) error { return s.audit(c.Context(), typesOf(args), failOnRisk) },
	}
	s.objectFlags(c)
	c.Flags().BoolVar(&failOnRisk, "fail-on-risk", false, "Exit with code 1 if there is a risk.")
	s.dataFlag(c)
	return c
}

func (s *shared) audit(ctx context.Context, types []string, failOnRisk bool) error {
	reader, in, err := s.objects(ctx)
	if err != nil {
		return err
	}
	survey, err := reader.Survey(ctx, types...)
	if err != nil {
		return err
	}
	report, err := audit.Run(ctx, survey, in)
	if err != nil {
		return err
	}
	report.Gaps = append(report.Gaps, s.gaps...)
	if failOnRisk { // what could be a risk must not pass
		report.Gaps = append(report.Gaps, report.Possible()...)
	}
	s.gaps, s.negative = report.Gaps, failOnRisk && len(report.Risks) > 0
	return show(s, "Audit", []any{report}, true, func() error { return report.Table(s.env.IOStreams.Out, s.format == "wide") })
}
