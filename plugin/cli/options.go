package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// shared are the environment and the options of the command that runs. Each option means the same for every command that has it.
type shared struct {
	env     Environment
	cluster *genericclioptions.ConfigFlags

	// files are those of -f, from which objects are read instead of the cluster. For a command that has manifests, -f are these, and files
	// those of --live.
	files, manifests resource.FilenameOptions

	selector      string
	allNamespaces bool
	config        string
	format        string // of the output: wide for people, and kubectl's formats for programs
	printing      *genericclioptions.PrintFlags
	dryRun        string

	// failures are errors about single objects, gaps what is unknown. Negative reports a negative result (ExitNegative).
	failures []error
	gaps     []string
	negative bool
}

// objectFlags adds the flags of a command that reads objects, as kubectl get has them.
func (s *shared) objectFlags(c *cobra.Command) {
	fileFlags(c, &s.files, "Files, directories or URLs to read objects from instead of the cluster, written by kubectl get -o yaml "+
		"--show-managed-fields; - is standard input.", &s.files.Kustomize)
	s.selectorFlag(c, "objects")
	c.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "Use all namespaces.")
	s.configFlag(c)
}

// manifestFlags adds the flags of a command that reads manifests.
func (s *shared) manifestFlags(c *cobra.Command, usage string, kustomize *string) {
	fileFlags(c, &s.manifests, usage, kustomize)
	s.configFlag(c)
	c.Args = between(0, 0, "accepts no arguments; name files with -f")
}

func fileFlags(c *cobra.Command, files *resource.FilenameOptions, usage string, kustomize *string) {
	flags := genericclioptions.FileNameFlags{Usage: usage, Filenames: &files.Filenames, Recursive: &files.Recursive, Kustomize: kustomize}
	flags.AddFlags(c.Flags())
}

func (s *shared) configFlag(c *cobra.Command) {
	c.Flags().StringVar(&s.config, "config", "", "Configuration file of the webhook (its --config): the lists of field managers, "+
		"and rules that assign fields to controllers. The default is the configuration of the webhook in the cluster.")
}

func (s *shared) selectorFlag(c *cobra.Command, of string) {
	c.Flags().FuncP("selector", "l", "Selector (label query) to filter "+of+" on.", func(text string) error {
		s.selector = text
		_, err := labels.Parse(text)
		return err
	})
}

// choiceFlag adds a flag with a few values, of which the first is the default.
func choiceFlag(c *cobra.Command, value *string, name, usage string, values ...string) {
	*value = values[0]
	c.Flags().Func(name, usage, func(text string) error {
		*value = text
		return oneOf(values, text)
	})
}

// oneOf returns an error if some of the texts are not values.
func oneOf(values []string, texts ...string) error {
	if !sets.New(values...).HasAll(texts...) {
		return fmt.Errorf("use one of %s", strings.Join(values, ", "))
	}
	return nil
}

// typesOf returns the types in arguments, each of which can be a list.
func typesOf(args []string) []string {
	return strings.FieldsFunc(strings.Join(args, ","), func(r rune) bool { return r == ',' })
}

// objects opens the objects that the options select, with the configuration of --config or of the installation, which is that of the
// manifests for objects in files. If the configuration is unknown, that is a gap.
func (s *shared) objects(ctx context.Context) (opened *source.Reader, in *installation.Installation, err error) {
	r := source.Reader{
		Cluster: s.cluster, In: s.env.IOStreams.In, Files: s.files, Configuration: config.Default(), Selector: s.selector,
		AllNamespaces: s.allNamespaces,
	}
	if slices.Contains(s.manifests.Filenames, "-") && slices.Contains(s.files.Filenames, "-") {
		return nil, nil, errors.New("manifests and live objects cannot both come from standard input; name a file for one of them")
	}
	if r.Offline() {
		in, err = installation.InFiles()
	} else {
		in, err = s.installation(ctx)
	}
	switch {
	case err != nil:
	case s.config != "":
		r.Configuration, err = config.Read(s.config)
	default:
		r.Configuration, s.gaps = in.Configured(ctx, s.namespace())
	}
	if err == nil {
		opened, err = r.Open()
	}
	return opened, in, err
}

// namespace returns the namespace of -n or of the context. An error would be that of the client.
func (s *shared) namespace() string {
	namespace, _, _ := s.cluster.ToRawKubeConfigLoader().Namespace()
	return namespace
}

// installation reads the installation in the cluster.
func (s *shared) installation(ctx context.Context) (*installation.Installation, error) {
	restConfig, err := s.cluster.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return installation.Of(ctx, restConfig)
}
