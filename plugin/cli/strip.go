package cli

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/plugin/source"
	"github.com/ownership-handoff/handoff/plugin/strip"
)

func (s *shared) newStrip() *cobra.Command {
	var ignoreErrors, quiet bool
	c := &cobra.Command{
		Use:   "strip [-f FILE]",
		Short: "Remove fields that others own from manifests",
		Long: `Removes fields that autoscalers and controllers own in the live objects from manifests, and writes the manifests to
standard output. An apply of the result does not reset these fields and, server-side, does not conflict with their managers.

Everything else stays as it is: comments, the order of fields, indentation and quoting. The manifests can be YAML, JSON,
lists, or the ResourceList of a KRM function: strip is a step of a pipeline, a post-renderer of Helm, or a KRM function.

If an apply would delete the field then, it is set to the live value instead: if the last-applied annotation contains it, if
no other manager manages it, or if the object was applied by a client that records its manifest elsewhere, such as Helm 3.
Use kubectl handoff release once to be able to drop the field. The fields of a rule with edit: apply stay as they are,
because a new value in the manifest wins.

Objects that do not exist stay unchanged. strip works with and without the handoff webhook, and in every namespace, whatever
its mode. Objects without a namespace are looked up in the namespace of -n or of the context: as a post-renderer, strip needs the
namespace of the release. If a live object or its owners cannot be read, strip fails and writes no manifests.`,
		Example: `  # Apply server-side without --force-conflicts
  kubectl handoff strip -f manifests/ | kubectl apply --server-side -f -

  # Show what would be removed
  kubectl handoff strip -f web.yaml -o yaml

  # Post-render a Helm 3 release
  helm upgrade web ./chart -n shop --post-renderer kubectl-handoff --post-renderer-args strip --post-renderer-args=-nshop`,
		RunE: func(c *cobra.Command, _ []string) error { return s.strip(c.Context(), ignoreErrors, quiet) },
	}
	s.manifestFlags(c, "Files or directories that contain the manifests; - is standard input, the default.", nil)
	c.Flags().StringSliceVar(&s.files.Filenames, "live", nil, "Files, directories or URLs to read the live objects from instead of the "+
		"cluster, written by kubectl get -o yaml --show-managed-fields; - is standard input.")
	c.Flags().BoolVar(&ignoreErrors, "ignore-errors", false,
		"Leave objects unchanged if their live objects or owners cannot be read, and exit with 0, instead of failing.")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "Do not report changes on standard error.")
	s.dataFlag(c)
	return c
}

func (s *shared) strip(ctx context.Context, ignoreErrors, quiet bool) error {
	if len(s.manifests.Filenames) == 0 {
		s.manifests.Filenames = []string{"-"}
	}
	texts, err := source.ReadTexts(s.env.IOStreams.In, s.manifests.Filenames, s.manifests.Recursive)
	if err != nil {
		return err
	}
	reader, _, unread := s.objects(ctx)
	stripper := strip.Stripper{Read: reader.Get, IgnoreErrors: ignoreErrors}
	switch {
	case unread == nil:
	case ignoreErrors && source.IsUnreachable(unread): // for each object
		stripper.Read = func(context.Context, source.Identity) (o source.Subject, ok bool, _ error) { return o, false, unread }
	default:
		return unread
	}
	var files [][]byte // nothing is written before all of them are stripped
	for _, text := range texts {
		file, err := stripper.File(ctx, text)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	s.report("partial: ", append(stripper.Gaps, s.gaps...)...)
	s.gaps = nil // tools discard the output of a step that fails
	if !quiet {
		s.reportStripped(stripper)
	}
	return show(s, "Strip", stripper.Objects, false, func() error {
		_, err := s.env.raw.Write(joinDocuments(files))
		return err
	})
}

// reportStripped reports the changes, and the objects that do not exist: in a wrong namespace, that is all of them.
func (s *shared) reportStripped(all strip.Stripper) {
	if !s.isData() {
		s.report("", all.Lines()...)
	}
	if len(all.Missing) == 0 {
		return
	}
	where := "the files of --live"
	if len(s.files.Filenames) == 0 {
		where = "the cluster, in namespace " + s.namespace() + " where the manifest names none"
	}
	s.report("note: ", fmt.Sprintf("%d of %d objects are not in %s, and stay unchanged: %s",
		len(all.Missing), all.Manifests, where, printable.Some(all.Missing)))
}

// joinDocuments returns the texts of files as one stream of documents. A single file stays as it is.
func joinDocuments(files [][]byte) (all []byte) {
	for _, text := range files {
		if len(all) == 0 {
			all = text
			continue
		}
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
		all = append(bytes.TrimSuffix(all, []byte("\n")), '\n')
		switch {
		case bytes.HasPrefix(text, []byte("%")): // a directive has to follow the end of a document
			all = append(all, "...\n"...)
		case !bytes.HasPrefix(text, []byte("---")):
			all = append(all, "---\n"...)
		}
		all = append(all, text...)
	}
	return all
}
