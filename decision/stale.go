package decision

import (
	"bytes"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// stale decides on the defaults that the manifest contradicts. What somebody has declared is left to the API server, which
// refuses the write.
func stale(r Request, w merge.Write, contested contested) []Change {
	if w.Author.Writer != ownership.Applier {
		return nil // whose manifests nobody has looked for
	}
	var found []Change
	for _, c := range w.Contradictions(r.Kind.Group, r.Kind.Kind) {
		if contested.manifests.On(c.Choice).Manifest != ownership.Sets {
			continue
		}
		declared := contested.manifests.On(c.Member)
		field := merge.Field{
			Owner: ownership.Default, Writer: w.Author.Writer, Manifest: declared.Manifest, Base: declared.Base,
			Changed:      !bytes.Equal(r.Live.Value(c.Member), r.Incoming.Value(c.Member)),
			Contradicted: true,
		}
		if !contested.manifests.Defaulted(c.Member, w.LiveEntries) {
			field.Owner = contested.contextOf(c.Member).Resolve(c.Member, w.LiveEntries, declared.Base).Owner
		}
		decided := changeOf(c.Member, field, "", "", "")
		if decided.Choice = c.By; decided.Verdict == merge.Clear {
			found = append(found, decided)
		}
	}
	return found
}

func pathsOf(changes []Change) []fieldpath.Path {
	paths := make([]fieldpath.Path, len(changes))
	for i, c := range changes {
		paths[i] = c.Path
	}
	return paths
}
