package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/plugin/doctor"
)

func (s *shared) newDoctor() *cobra.Command {
	var deadline time.Duration
	c := &cobra.Command{
		Use:   "doctor [-n NAMESPACE]",
		Short: "Find out why handoff does not work in a cluster",
		Long: `Checks an installation of the handoff webhook, and shows for each problem how to fix it.

The central check is a dry run: the command creates a Deployment with --dry-run=server, and the webhook answers it with a
warning. The dry run takes the way of a real write, through the API server, the webhook configuration, the network, TLS and a
pod. The other checks find out why there is no answer, and what will fail next.

Checks:
  api-server      the version of Kubernetes
  configuration   the MutatingWebhookConfiguration exists, its rules match all kinds that can be scaled
  pods            the Deployment and its pods: not ready, cannot be created
  certificate     the serving certificate: expiration, DNS names, CA; the caBundle of each webhook
  permissions     which permissions the webhook's ServiceAccount lacks
  namespaces      a mode has no effect there, or is unknown
  dry-run         the API server calls the webhook, and a pod answers
  network         the API server reaches a pod through the Service, its port and its ready endpoints, or which error it gets
  changes         which fields of the configuration other clients have written, and what is missing
  versions        the versions of the webhook and of this plugin
  guard           the guard's policies, if they are installed

Nothing is stored. With -n, the dry run is made in that namespace, only that namespace is checked, and checks that cannot read
everything are skipped if the dry run was answered. Without it, the command chooses a namespace, preferably one that has
opted in. The exit code is 1 if there is a problem.`,
		Example: `  # Check the installation
  kubectl handoff doctor

  # Find out why nothing is kept in one namespace
  kubectl handoff doctor -n shop

  # List the commands that fix the problems
  kubectl handoff doctor -o jsonpath='{range .checks[*].findings[*].remedies[*]}{@}{"\n"}{end}'`,
		Args: between(0, 0, "accepts no arguments; select a namespace with -n"),
		RunE: func(c *cobra.Command, _ []string) error { return s.doctor(c.Context(), deadline) },
	}
	c.Flags().DurationVar(&deadline, "deadline", 30*time.Second, "Time for all checks. The remaining checks are skipped.")
	s.dataFlag(c)
	return c
}

func (s *shared) doctor(ctx context.Context, deadline time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	report, err := doctor.Run(ctx, doctor.Options{
		Cluster: s.cluster, Namespace: *s.cluster.Namespace, Version: s.env.Version, Now: s.env.Now(),
	})
	if err != nil {
		return err
	}
	s.gaps, s.negative = report.Gaps(), report.Problems() > 0
	return show(s, "Diagnosis", []any{report}, true, func() error { return report.Table(s.env.IOStreams.Out) })
}
