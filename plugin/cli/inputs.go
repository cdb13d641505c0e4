package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// inputs are the flags that select what a command reads. They mean the same for all commands.
type inputs struct {
	// files are objects to read instead of those in the cluster or, for a command with --live, manifests.
	files         *genericclioptions.FileNameFlags
	manifests     bool
	live          []string
	selector      selector
	allNamespaces bool
	config        string
}

// addObjects adds the flags of a command that reads objects, as kubectl get has them.
func (f *inputs) addObjects(c *cobra.Command) {
	f.addFiles(c, "Files, directories or URLs to read objects from instead of the cluster; - is standard input.", true)
	f.addSelector(c, "objects")
	c.Flags().BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Use all namespaces.")
	f.addConfig(c)
}

// addManifests adds the flags of a command that reads manifests.
func (f *inputs) addManifests(c *cobra.Command, usage string, kustomize bool) {
	f.manifests = true
	f.addFiles(c, usage, kustomize)
	c.Flags().StringSliceVar(&f.live, "live", nil,
		"Files, directories or URLs to read the live objects from instead of the cluster; - is standard input.")
	f.addConfig(c)
}

func (f *inputs) addFiles(c *cobra.Command, usage string, kustomize bool) {
	filenames, folder, recursive := []string{}, "", false
	f.files = &genericclioptions.FileNameFlags{Usage: usage, Filenames: &filenames, Recursive: &recursive}
	if kustomize {
		f.files.Kustomize = &folder
	}
	f.files.AddFlags(c.Flags())
}

func (f *inputs) addSelector(c *cobra.Command, of string) {
	c.Flags().VarP(&f.selector, "selector", "l", "Selector (label query) to filter "+of+" on.")
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

func (f *inputs) addConfig(c *cobra.Command) {
	c.Flags().StringVar(&f.config, "config", "", "Configuration file of the webhook (its --config): the lists of field managers, "+
		"and rules that assign fields to controllers. The default is the configuration of the webhook in the cluster.")
}

func (f *inputs) filenames() resource.FilenameOptions {
	if f.files == nil { // of a command without -f
		return resource.FilenameOptions{}
	}
	return f.files.ToOptions()
}

func (f *inputs) hasFiles() bool {
	files := f.filenames()
	return len(files.Filenames) > 0 || files.Kustomize != ""
}

// offline reports whether objects are read from files instead of a cluster.
func (f *inputs) offline() bool {
	if f.manifests {
		return len(f.live) > 0
	}
	return f.hasFiles()
}

func (f *inputs) query(objects ...string) source.Query {
	return source.Query{Files: f.filenames(), Objects: objects, Selector: f.selector.String(), AllNamespaces: f.allNamespaces}
}

// reader returns a reader that uses the configuration of --config or of the installation, with a gap if that is unknown.
func (s *shared) reader(ctx context.Context, f *inputs) (source.Reader, []string, error) {
	configuration, gaps, err := s.configuration(ctx, f)
	return source.Reader{Cluster: s.cluster, In: s.env.IOStreams.In, Configuration: configuration}, gaps, err
}

// read reads the objects named as TYPE, TYPE NAME or TYPE/NAME.
func (s *shared) read(ctx context.Context, f *inputs, objects []string) (source.Reading, error) {
	reader, gaps, err := s.reader(ctx, f)
	if err != nil {
		return source.Reading{}, err
	}
	reading, err := reader.Read(ctx, f.query(objects...))
	reading.Gaps = append(reading.Gaps, gaps...)
	return reading, err
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

// configuration returns the configuration of --config or, without it, that of the installation: the default for objects in files.
// The gap says if that is unknown.
func (s *shared) configuration(ctx context.Context, f *inputs) (c config.HandoffConfiguration, gaps []string, err error) {
	switch {
	case f.config != "":
		c, err = config.Read(f.config)
		return c, nil, err
	case f.offline():
		return config.Default(), nil, nil
	}
	in, err := s.installation(ctx, false)
	if err != nil { // the objects can be read from files, or not at all
		gaps = []string{"the configuration of handoff is unknown, so the default applies: " + err.Error()}
		return config.Default(), gaps, nil //nolint:nilerr // the error is a gap
	}
	namespace, _, err := s.cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return config.Default(), nil, source.Advise(err, "")
	}
	c, gaps = in.Configured(ctx, namespace)
	return c, gaps, nil
}
