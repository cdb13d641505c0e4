package cli

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/plugin/source"
)

const configUsage = "Configuration file of the webhook (its --config): the lists of field managers, " +
	"and rules that assign fields to controllers. The default is the configuration of the webhook in the cluster."

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

func (f *subjectFlags) filenames() resource.FilenameOptions {
	if f.files == nil { // of a command without -f
		return resource.FilenameOptions{}
	}
	return f.files.ToOptions()
}

// offline reports whether objects are read from files instead of a cluster.
func (f *subjectFlags) offline() bool {
	files := f.filenames()
	return len(files.Filenames) > 0 || files.Kustomize != ""
}

// reader returns a reader that uses the configuration of --config or of the installation, with a gap if that is unknown.
func (s *shared) reader(ctx context.Context, f *subjectFlags) (source.Reader, []string, error) {
	configuration, gaps, err := s.configuration(ctx, f.config, f.offline())
	return source.Reader{Cluster: s.cluster, In: s.env.IOStreams.In, Configuration: configuration}, gaps, err
}

// read reads the objects named as TYPE, TYPE NAME or TYPE/NAME.
func (s *shared) read(ctx context.Context, f *subjectFlags, objects []string) (source.Reading, error) {
	reader, gaps, err := s.reader(ctx, f)
	if err != nil {
		return source.Reading{}, err
	}
	reading, err := reader.Read(ctx, source.Query{
		Files: f.filenames(), Objects: objects, Selector: f.selector, AllNamespaces: f.allNamespaces,
	})
	reading.Gaps = append(reading.Gaps, gaps...)
	return reading, err
}
