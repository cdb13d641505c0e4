package cli

import (
	"net/http"
	"strings"

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
	// tries says that writes are only tried: what handoff warns about them is the answer, and no warning.
	tries bool
}

func newRoot(env Environment) *cobra.Command {
	s := &shared{Environment: env, cluster: genericclioptions.NewConfigFlags(true)}
	s.cluster.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst = 50, 300 // as kubectl
		c.UserAgent = "kubectl-handoff/" + env.Version
		c.WarningHandler = rest.NewWarningWriter(env.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
		if s.tries {
			c.WarningHandler = others{c.WarningHandler}
		}
		c.Wrap(func(inner http.RoundTripper) http.RoundTripper { return secretWarnings{inner} })
		return c
	}
	root := &cobra.Command{
		Use:   "kubectl-handoff",
		Short: "Tell and decide whose the fields of objects are",
		Long: `Tells whose the fields of Kubernetes objects are: an autoscaler's, a controller's, a person's, the manifest's, or
nobody's. It works on any cluster, with the webhook of handoff or without, and on files.

Why did the replicas of a Deployment come back? kubectl apply sets what its manifest says, whoever has set it since: replicas
that an autoscaler had raised go back to the manifest's. And it deletes what the manifest says no more: replicas that were
taken out of it become 1. explain says who set a field and what the next apply does to it, audit finds where that is going to
happen, preview shows it for the files at hand. release takes a field away from the manifest for good, and enable lets the
webhook of handoff do so in a namespace at each apply.

Exit codes, of all commands:
  0  answered or done; to a question, the answer is yes
  1  the answer is no
  2  an error: not answered, or not done
  3  answered in part; lines on standard error that begin with "partial:" say what is not known`,
		Example: `  # why there are so many replicas, or so few
  kubectl handoff explain deployment/web .spec.replicas

  # what would go wrong at the next apply, in all namespaces
  kubectl handoff audit -A

  # what an apply of these files would do, without handoff and with it
  kubectl handoff preview -f shop.yaml

  # take replicas away from the manifest, before deleting them there
  kubectl handoff release deployment/web .spec.replicas

  # let handoff keep what autoscalers own in a namespace
  kubectl handoff enable shop`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl handoff"},
		SilenceUsage:  true,
		SilenceErrors: true,
		// Without it, cobra takes any word for an argument.
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	s.cluster.AddFlags(root.PersistentFlags())
	s.completeClusterFlags(root)
	root.AddCommand(
		s.newExplain(), s.newPreview(), s.newAudit(), s.newRelease(), s.newEnable(), s.newDisable(), s.newStatus(), s.newVersion(),
	)
	return root
}

// others hands on the warnings that are not the webhook's own.
type others struct{ rest.WarningHandler }

// HandleWarningHeader implements rest.WarningHandler.
func (o others) HandleWarningHeader(code int, agent, text string) {
	if !strings.HasPrefix(text, "handoff: ") {
		o.WarningHandler.HandleWarningHeader(code, agent, text)
	}
}
