package cli

import (
	"net/http"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/internal/table"
)

// fieldManager is the field manager of writes by kubectl handoff. Like kubectl's own, it counts as imperative.
const fieldManager = "kubectl-handoff"

func newRoot(env Environment) *cobra.Command {
	s := &shared{env: env, cluster: genericclioptions.NewConfigFlags(true)}
	s.cluster.WrapConfigFn = s.configure
	root := &cobra.Command{
		Use:   "kubectl-handoff",
		Short: "Show and change who owns each field",
		Long: `Shows who owns each field of a Kubernetes object: an autoscaler, a controller, a user, the manifest, or nobody. It works
on any cluster, with or without the handoff webhook, and on files.

Why were the replicas of a Deployment reset? kubectl apply sets every field in the manifest, even if another client has
changed it since: replicas that an autoscaler raised go back to the value in the manifest. It also deletes fields that
were removed from the manifest: the replicas then default to 1.

explain shows who set a field and what the next apply does to it. audit finds the objects that the next apply would break.
rules shows which fields the configuration of handoff assigns to controllers.
preview shows what an apply of given files would do. release stops managing a field through the manifest, permanently.
strip removes such fields from manifests before they are applied. enable turns on the handoff webhook in a namespace, which keeps
such fields at each apply. doctor finds out why it does not.

Exit codes of all commands:
  0  success
  1  negative result: preview found a field that handoff would keep, status a namespace where handoff is not enabled,
     audit --fail-on-risk a risk, or doctor a problem
  2  error
  3  incomplete result; lines on standard error that begin with "partial:" say what is unknown`,
		Example: `  # Show why a Deployment has so many replicas, or so few
  kubectl handoff explain deployment/web .spec.replicas

  # Find objects that the next apply would break, in all namespaces
  kubectl handoff audit -A

  # Preview an apply of these files, with and without handoff
  kubectl handoff preview -f shop.yaml

  # Stop managing replicas through the manifest, before removing them from it
  kubectl handoff release deployment/web .spec.replicas

  # Apply server-side without the fields that autoscalers own
  kubectl handoff strip -f shop.yaml | kubectl apply --server-side -f -

  # Keep the fields that autoscalers own in a namespace
  kubectl handoff enable shop

  # Find out why nothing is kept
  kubectl handoff doctor`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl handoff"},
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          known,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	s.cluster.AddFlags(root.PersistentFlags())
	s.completeClusterFlags(root)
	root.AddCommand(
		s.newExplain(), s.newPreview(), s.newAudit(), s.newRules(), s.newRelease(), s.newStrip(),
		s.newEnable(), s.newDisable(), s.newStatus(), s.newDoctor(), s.newVersion(),
	)
	return root
}

// configure sets up the client of the cluster.
func (s *shared) configure(c *rest.Config) *rest.Config {
	c.QPS, c.Burst = 50, 300 // as kubectl
	c.UserAgent = "kubectl-handoff/" + s.env.Version
	c.WarningHandler = rest.NewWarningWriter(s.env.IOStreams.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	c.Wrap(func(inner http.RoundTripper) http.RoundTripper { return secretWarnings{inner} })
	return c
}

func (s *shared) newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this plugin",
		Long:    "Prints the version of this plugin, without contacting a cluster.",
		Example: "  # Print the version\n  kubectl handoff version",
		Args:    between(0, 0, "accepts no arguments"),
		RunE: func(*cobra.Command, []string) error {
			return table.Lines(s.env.IOStreams.Out, "kubectl-handoff "+s.env.Version)
		},
	}
}

// must panics on an error that only a bug in this package can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
