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
standard output. An apply of the result does not reset these fields and, server-side, does not conflict with their managers: it
needs no --force-conflicts.

Everything else stays as it is: comments, the order of fields, indentation and quoting. Without -f, the manifests are read
from standard input. They can be YAML, JSON, lists, or the ResourceList of a KRM function. So strip is a step of a pipeline, a
post-renderer of Helm, or a function of kustomize. Changes are reported on standard error.

A field is removed only if an apply would not delete it then: not if the last-applied annotation contains it, if no other
manager manages it, or if the object was applied by a client that records its manifest elsewhere, such as Helm 3. In these cases
it is set to the live value. Use kubectl handoff release once to be able to drop the field. The fields of a rule with edit: apply
stay as they are, because a new value in the manifest wins.

Objects that do not exist stay unchanged. strip works with and without the handoff webhook, and in every namespace, whatever
its mode. Objects without a namespace are looked up in the namespace of -n or of the context: as a post-renderer, strip needs the
namespace of the release.

If a live object or its owners cannot be read, strip fails and writes no manifests. With --ignore-errors, it leaves such objects
unchanged instead, and still exits with 0, because tools discard the output of a step that fails.

Requires get permission on the objects, and list permission on the HorizontalPodAutoscalers.`,
		Example: `  # Apply server-side without --force-conflicts
  kubectl handoff strip -f manifests/ | kubectl apply --server-side -f -

  # Show what would be removed
  kubectl handoff strip -f web.yaml -o yaml

  # Build a kustomization, strip it, and apply it
  kubectl kustomize overlays/prod | kubectl handoff strip -n shop | kubectl apply --server-side -f -

  # Post-render a Helm 3 release
  helm upgrade web ./chart -n shop --post-renderer kubectl-handoff --post-renderer-args strip --post-renderer-args=-nshop`,
		Args:              between(0, 0, "accepts no arguments; name files with -f"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return s.strip(c.Context(), ignoreErrors, quiet) },
	}
	s.manifestFlags(c, "Files, directories or URLs that contain the manifests; - is standard input, the default.", false)
	c.Flags().BoolVar(&ignoreErrors, "ignore-errors", false,
		"Leave objects unchanged if their live objects or owners cannot be read, instead of failing.")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "Do not report changes on standard error.")
	s.dataFlag(c, reportUsage)
	return c
}

func (s *shared) strip(ctx context.Context, ignoreErrors, quiet bool) error {
	stripper, files, err := s.stripAll(ctx, ignoreErrors)
	if err != nil {
		return err
	}
	s.report("partial: ", stripper.Gaps...)
	if !quiet && !s.output.isData() {
		s.report("", stripper.Lines()...)
	}
	if !quiet && len(stripper.Missing) > 0 {
		if err := s.reportMissing(stripper); err != nil {
			return err
		}
	}
	return show(s, "Strip", stripper.Objects, false, func() error {
		_, err := s.env.raw.Write(joinDocuments(files))
		return err
	})
}

// stripAll reads and strips all files. Nothing is written before all of them are stripped.
func (s *shared) stripAll(ctx context.Context, ignoreErrors bool) (stripper strip.Stripper, files [][]byte, err error) {
	if len(s.filenames) == 0 {
		s.filenames = []string{"-"}
	}
	reader, gaps, err := s.liveObjects(ctx)
	if err != nil {
		return stripper, nil, err
	}
	texts, err := source.ReadTexts(ctx, s.env.IOStreams.In, s.filenames, s.recursive)
	if err != nil {
		return stripper, nil, err
	}
	stripper = strip.Stripper{IgnoreErrors: ignoreErrors}
	switch live, err := reader.Live(ctx); {
	case err == nil:
		stripper.Read = live.Read
	case ignoreErrors && !reader.Offline(): // the error is that of each object
		stripper.Read = func(context.Context, source.Identity) (o source.Subject, ok bool, _ error) { return o, false, err }
	default:
		return stripper, nil, err
	}
	for _, text := range texts {
		file, err := stripper.File(ctx, text)
		if err != nil {
			return stripper, nil, err
		}
		files = append(files, file)
	}
	stripper.Gaps = append(stripper.Gaps, gaps...)
	return stripper, files, nil
}

// reportMissing reports objects that do not exist: in a wrong namespace, that is all of them.
func (s *shared) reportMissing(all strip.Stripper) error {
	where := "the files of --live"
	if len(s.live) == 0 {
		namespace, err := s.namespace()
		if err != nil {
			return err
		}
		where = "the cluster, in namespace " + namespace + " where the manifest names none"
	}
	s.report("note: ", fmt.Sprintf("%d of %d objects are not in %s, and stay unchanged: %s", len(all.Missing), all.Manifests, where,
		printable.Some(all.Missing)))
	return nil
}

// joinDocuments returns the texts of files as one stream of documents. A single file stays as it is.
func joinDocuments(files [][]byte) (all []byte) {
	for _, text := range files {
		if len(all) == 0 {
			all = append(all, text...)
			continue
		}
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
		if !bytes.HasSuffix(all, []byte("\n")) {
			all = append(all, '\n')
		}
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
