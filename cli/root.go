package cli

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
)

// fieldManager is by whom the writes of kubectl handoff are known: a person's command, as all of kubectl's.
const fieldManager = "kubectl-handoff"

// shared is what all commands have.
type shared struct {
	Environment
	cluster *genericclioptions.ConfigFlags
}

func newRoot(env Environment) *cobra.Command {
	s := &shared{Environment: env, cluster: genericclioptions.NewConfigFlags(true)}
	s.cluster.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst = 50, 300 // as kubectl
		c.UserAgent = "kubectl-handoff/" + env.Version
		c.WarningHandler = rest.NewWarningWriter(env.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
		return c
	}
	root := &cobra.Command{
		Use:   "kubectl-handoff",
		Short: "Tell and decide whose the fields of objects are",
		Long: `Tells whose the fields of Kubernetes objects are: an autoscaler's, a controller's, a person's, the manifest's, or
nobody's. It works on any cluster, with the webhook of handoff or without, and on files.

Exit codes, of all commands:
  0  answered or done; to a question, the answer is yes
  1  the answer is no
  2  an error: not answered, or not done
  3  answered in part; lines on standard error that begin with "partial:" say what is not known`,
		Example: `  # whose the fields of a Deployment are
  kubectl handoff explain deployment/web

  # let handoff keep what autoscalers own in a namespace
  kubectl handoff enable shop

  # give replicas away from the manifest, before deleting it there
  kubectl handoff release deployment/web .spec.replicas`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl handoff"},
		SilenceUsage:  true,
		SilenceErrors: true,
		// Without it, cobra takes any word for an argument.
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	s.cluster.AddFlags(root.PersistentFlags())
	s.completeClusterFlags(root)
	root.AddCommand(s.newExplain(), s.newRelease(), s.newEnable(), s.newDisable(), s.newStatus(), s.newVersion())
	return root
}
