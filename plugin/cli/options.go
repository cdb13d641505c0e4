package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
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

	// filenames, folder and recursive select the objects to read instead of those in the cluster or, for a command that has live
	// objects, the manifests.
	filenames     []string
	folder        string
	recursive     bool
	live          []string
	selector      selector
	allNamespaces bool
	config        string
	output        output
	dryRun        string

	// installed is read once.
	installed *installation.Installation
}

// objectFlags adds the flags of a command that reads objects, as kubectl get has them.
func (s *shared) objectFlags(c *cobra.Command) {
	s.fileFlags(c, "Files, directories or URLs to read objects from instead of the cluster; - is standard input.", true)
	s.selectorFlag(c, "objects")
	c.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "Use all namespaces.")
	s.configFlag(c)
}

// manifestFlags adds the flags of a command that reads manifests and live objects.
func (s *shared) manifestFlags(c *cobra.Command, usage string, kustomize bool) {
	s.fileFlags(c, usage, kustomize)
	c.Flags().StringSliceVar(&s.live, "live", nil,
		"Files, directories or URLs to read the live objects from instead of the cluster; - is standard input.")
	s.configFlag(c)
}

func (s *shared) fileFlags(c *cobra.Command, usage string, kustomize bool) {
	flags := genericclioptions.FileNameFlags{Usage: usage, Filenames: &s.filenames, Recursive: &s.recursive}
	if kustomize {
		flags.Kustomize = &s.folder
	}
	flags.AddFlags(c.Flags())
}

func (s *shared) selectorFlag(c *cobra.Command, of string) {
	c.Flags().VarP(&s.selector, "selector", "l", "Selector (label query) to filter "+of+" on.")
}

// selector is the value of a flag: a label selector.
type selector string

// String implements pflag.Value.
func (s *selector) String() string { return string(*s) }

// Set implements pflag.Value.
func (s *selector) Set(text string) error {
	if _, err := labels.Parse(text); err != nil {
		return fmt.Errorf("%w; use the syntax of kubectl get, such as app=web", err)
	}
	*s = selector(text)
	return nil
}

// Type implements pflag.Value.
func (s *selector) Type() string { return "string" }

func (s *shared) configFlag(c *cobra.Command) {
	c.Flags().StringVar(&s.config, "config", "", "Configuration file of the webhook (its --config): the lists of field managers, "+
		"and rules that assign fields to controllers. The default is the configuration of the webhook in the cluster.")
}

// choiceFlag adds a flag with a few values, of which the first is the default.
func choiceFlag(c *cobra.Command, value *string, name, usage string, values ...string) {
	c.Flags().StringVar(value, name, values[0], usage)
	must(c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, noFiles)))
}

// files are those of -f, -k and -R.
func (s *shared) files() resource.FilenameOptions {
	return resource.FilenameOptions{Filenames: s.filenames, Kustomize: s.folder, Recursive: s.recursive}
}

func (s *shared) hasFiles() bool { return len(s.filenames) > 0 || s.folder != "" }

// objects returns a reader of the objects that the options select, with the configuration of --config or of the installation. The
// gaps say if that is unknown.
func (s *shared) objects(ctx context.Context) (source.Reader, []string, error) {
	return s.reader(ctx, s.files())
}

// liveObjects returns a reader of live objects, of a command whose -f selects manifests.
func (s *shared) liveObjects(ctx context.Context) (source.Reader, []string, error) {
	if slices.Contains(s.filenames, "-") && slices.Contains(s.live, "-") {
		return source.Reader{}, nil, errors.New("manifests and live objects cannot both come from standard input; name a file for one of them")
	}
	return s.reader(ctx, resource.FilenameOptions{Filenames: s.live})
}

func (s *shared) reader(ctx context.Context, from resource.FilenameOptions) (r source.Reader, gaps []string, err error) {
	r = source.Reader{
		Cluster: s.cluster, In: s.env.IOStreams.In, Files: from, Configuration: config.Default(), Selector: s.selector.String(),
		AllNamespaces: s.allNamespaces,
	}
	switch {
	case s.config != "":
		r.Configuration, err = config.Read(s.config)
		return r, nil, err
	case r.Offline():
		return r, nil, nil
	}
	in, err := s.installation(ctx, false)
	if err != nil { // the objects can be read from files, or not at all
		return r, []string{"the configuration of handoff is unknown, so the default applies: " + err.Error()}, nil //nolint:nilerr // the error is a gap
	}
	namespace, err := s.namespace()
	if err == nil {
		r.Configuration, gaps = in.Configured(ctx, namespace)
	}
	return r, gaps, err
}

// namespace returns the namespace of -n or of the context.
func (s *shared) namespace() (string, error) {
	namespace, _, err := s.cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", source.Advise(err, "")
	}
	return namespace, nil
}

// installation returns the installation in the cluster, or that of the manifests for objects in files.
func (s *shared) installation(ctx context.Context, offline bool) (*installation.Installation, error) {
	if offline {
		return installation.InFiles()
	}
	if s.installed != nil {
		return s.installed, nil
	}
	restConfig, err := s.cluster.ToRESTConfig()
	if err == nil {
		s.installed, err = installation.Of(ctx, restConfig)
	}
	if err != nil {
		return nil, source.Advise(err, "")
	}
	return s.installed, nil
}
