package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/plugin/source"
	"github.com/ownership-handoff/handoff/plugin/strip"
)

type stripOptions struct {
	shared       *shared
	output       outputFlags
	inputs       inputs
	ignoreErrors bool
	quiet        bool
}

func (s *shared) newStrip() *cobra.Command {
	o := &stripOptions{shared: s, output: outputFlags{withoutWide: true}}
	c := &cobra.Command{
		Use:   "strip [-f FILE]",
		Short: "Remove fields that others own from manifests",
		Long: `Removes fields that autoscalers and controllers own in the live objects from manifests, and writes the manifests to
standard output. An apply of the result does not reset these fields and, server-side, does not conflict with their managers: it
needs no --force-conflicts.

Everything else stays as it is: comments, the order of fields, indentation and quoting. Without -f, the manifests are read
from standard input. They can be YAML, JSON, lists, or the ResourceList of a KRM function. So strip is a step of a pipeline, a
post-renderer of Helm, or a function of kustomize. Changes are reported on standard error and, for a ResourceList, in its
results.

A field is removed only if an apply would not delete it then: not if the last-applied annotation contains it, if no other
manager manages it, or if the object was applied by a client that records its manifest elsewhere, such as Helm 3. In these cases
it is set to the live value. Use kubectl handoff release once to be able to drop the field.

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
		Args:              onlyFiles,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	o.add(c)
	return c
}

func (o *stripOptions) add(c *cobra.Command) {
	o.inputs.addManifests(c, "Files, directories or URLs that contain the manifests; - is standard input, the default.", false)
	flags := c.Flags()
	flags.BoolVar(&o.ignoreErrors, "ignore-errors", false,
		"Leave objects unchanged if their live objects or owners cannot be read, instead of failing.")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "Do not report changes on standard error.")
	must(o.output.add(c))
}

func (o *stripOptions) run(ctx context.Context) error {
	if err := o.output.check(); err != nil {
		return err
	}
	files, err := o.strip(ctx)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := o.report(file); err != nil {
			return err
		}
	}
	if err := o.reportMissing(files); err != nil {
		return err
	}
	if o.output.isData() {
		var items []any
		for _, file := range files {
			items = append(items, file.Data()...)
		}
		return o.output.print(o.shared, "Strip", items, false)
	}
	_, err = o.shared.env.raw.Write(joinDocuments(files))
	return err
}

// strip reads and strips all files. Nothing is written before all of them are stripped.
func (o *stripOptions) strip(ctx context.Context) ([]strip.File, error) {
	options := o.inputs.filenames()
	names := options.Filenames
	if len(names) == 0 {
		names = []string{"-"}
	}
	if slices.Contains(names, "-") && slices.Contains(o.inputs.live, "-") {
		return nil, errors.New("manifests and live objects cannot both come from standard input; name a file for one of them")
	}
	texts, err := source.ReadTexts(ctx, o.shared.env.IOStreams.In, names, options.Recursive)
	if err != nil {
		return nil, err
	}
	reader, gaps, err := o.shared.reader(ctx, &o.inputs)
	if err != nil {
		return nil, err
	}
	stripper := strip.Stripper{IgnoreErrors: o.ignoreErrors}
	if stripper.Live, err = o.liveObjects(reader); err != nil {
		return nil, err
	}
	files := make([]strip.File, len(texts))
	for i, text := range texts {
		if files[i], err = stripper.File(ctx, text); err != nil {
			return nil, err
		}
	}
	if len(files) > 0 {
		files[0].Gaps = append(files[0].Gaps, gaps...)
	}
	return files, nil
}

// liveObjects returns the reader of the live objects. With --ignore-errors, an error is that of each object.
func (o *stripOptions) liveObjects(reader source.Reader) (strip.Reader, error) {
	live, err := reader.Live(resource.FilenameOptions{Filenames: o.inputs.live})
	switch {
	case err == nil:
		return live, nil
	case o.ignoreErrors && len(o.inputs.live) == 0:
		return unreadable{err}, nil
	default:
		return nil, err
	}
}

// unreadable is a cluster that cannot be read.
type unreadable struct{ err error }

// Read implements strip.Reader.
func (u unreadable) Read(context.Context, source.Identity) (source.Subject, bool, error) {
	return source.Subject{}, false, u.err
}

// report reports changes on standard error.
func (o *stripOptions) report(file strip.File) error {
	for _, gap := range file.Gaps {
		if _, err := fmt.Fprintln(o.shared.env.IOStreams.ErrOut, "partial:", printable.Text(gap)); err != nil {
			return err
		}
	}
	if o.quiet || o.output.isData() {
		return nil
	}
	for _, line := range file.Lines() {
		if _, err := fmt.Fprintln(o.shared.env.IOStreams.ErrOut, printable.Text(line)); err != nil {
			return err
		}
	}
	return nil
}

// reportMissing reports objects that do not exist: in a wrong namespace, that is all of them.
func (o *stripOptions) reportMissing(files []strip.File) error {
	var missing []string
	manifests := 0
	for _, file := range files {
		missing, manifests = append(missing, file.Missing...), manifests+file.Manifests
	}
	if o.quiet || len(missing) == 0 {
		return nil
	}
	where := "the files of --live"
	if len(o.inputs.live) == 0 {
		namespace, _, err := o.shared.cluster.ToRawKubeConfigLoader().Namespace()
		if err != nil {
			return source.Advise(err, "")
		}
		where = "the cluster, in namespace " + namespace + " where the manifest names none"
	}
	return o.shared.note(fmt.Sprintf("%d of %d objects are not in %s, and stay unchanged: %s", len(missing), manifests, where,
		printable.Names(missing[:min(len(missing), maxNotes)], len(missing))))
}

// joinDocuments returns the texts of files as one stream of documents. A single file stays as it is.
func joinDocuments(files []strip.File) []byte {
	var all []byte
	for _, file := range files {
		text := file.Text
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
