package cli

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/plugin/source"
)

const configUsage = "Configuration file of the webhook (its --config): the lists of field managers, " +
	"and rules that assign fields to controllers."

// subjectFlags select the objects of a command, like the flags of kubectl get.
type subjectFlags struct {
	files         *genericclioptions.FileNameFlags
	selector      string
	allNamespaces bool
	config        string
}

func (f *subjectFlags) add(c *cobra.Command) {
	filenames, kustomize, recursive := []string{}, "", false
	f.files = &genericclioptions.FileNameFlags{
		Usage:     "Files, directories or URLs to read objects from instead of the cluster; - is standard input.",
		Filenames: &filenames, Kustomize: &kustomize, Recursive: &recursive,
	}
	f.files.AddFlags(c.Flags())
	c.Flags().StringVarP(&f.selector, "selector", "l", "", "Selector (label query) to filter objects on.")
	c.Flags().BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Use all namespaces.")
	c.Flags().StringVar(&f.config, "config", "", configUsage)
}

func (f *subjectFlags) filenames() resource.FilenameOptions { return f.files.ToOptions() }

// offline reports whether objects are read from files instead of a cluster.
func (f *subjectFlags) offline() bool {
	files := f.filenames()
	return len(files.Filenames) > 0 || files.Kustomize != ""
}

// reader returns a reader that uses the configuration of --config.
func (s *shared) reader(f *subjectFlags) (source.Reader, error) {
	configuration, err := s.configuration(f.config)
	if err != nil {
		return source.Reader{}, err
	}
	return source.Reader{Cluster: s.cluster, In: s.env.IOStreams.In, Configuration: configuration}, nil
}

// read reads the objects named as TYPE, TYPE NAME or TYPE/NAME.
func (s *shared) read(ctx context.Context, f *subjectFlags, objects []string) (source.Reading, error) {
	reader, err := s.reader(f)
	if err != nil {
		return source.Reading{}, err
	}
	return reader.Read(ctx, source.Query{
		Files: f.filenames(), Objects: objects, Selector: f.selector, AllNamespaces: f.allNamespaces,
	})
}
