package cli

import (
	"net/http"
	"regexp"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
)

func (s *shared) newRoot() *cobra.Command {
	s.cluster.WrapConfigFn = s.configure
	root := &cobra.Command{
		Use:   "kubectl-handoff",
		Short: "Show and change who owns each field",
		Long: `Shows who owns each field of a Kubernetes object: an autoscaler, a controller, a user, the manifest, or nobody. It works
on any cluster, with or without the handoff webhook, and on files.

kubectl apply sets every field in the manifest, even if another client has changed it since: replicas that an autoscaler
raised go back to the value in the manifest. Fields that were removed from the manifest are deleted: replicas default to 1.

Exit codes:
  0  success
  1  negative result, as the help of a command defines it
  2  error
  3  incomplete result; lines on standard error that begin with "partial:" say what is unknown`,
		Example: `  # Show why a Deployment has so many replicas, or so few
  kubectl handoff explain deployment/web .spec.replicas

  # Find objects that the next apply would break, in all namespaces
  kubectl handoff audit -A

  # Keep the fields that autoscalers own in a namespace
  kubectl handoff enable shop`,
		Version:       s.env.Version,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl handoff"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, "%w", err) })
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	s.cluster.AddFlags(root.PersistentFlags())
	root.AddCommand(
		s.newExplain(), s.newPreview(), s.newAudit(), s.newRules(), s.newRelease(), s.newStrip(),
		s.newEnable(), s.newDisable(), s.newStatus(), s.newDoctor(),
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

// secretWarnings hides warnings in responses about Secrets: an admission webhook or policy can quote the Secret's contents in one.
type secretWarnings struct{ http.RoundTripper }

var secretPath = regexp.MustCompile(`^/api/v1/(namespaces/[^/]+/)?secrets(/|$)`)

// RoundTrip implements http.RoundTripper.
func (w secretWarnings) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.RoundTripper.RoundTrip(request)
	if err == nil && response.Header.Get("Warning") != "" && secretPath.MatchString(request.URL.Path) {
		response.Header.Set("Warning", `299 - "a warning about the Secret is hidden because it can quote the Secret's contents"`)
	}
	return response, err
}
