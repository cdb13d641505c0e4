package decision

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// stale decides on the defaults that the manifest contradicts. What somebody has declared is left to the API server, which
// refuses the write.
func stale(w ownership.Write, context ownership.ObjectContext) []Change {
	if w.Author.Writer != ownership.Applier {
		return nil // whose manifests nobody has looked for
	}
	var found []Change
	for _, c := range merge.Contradictions(w, w.Kind.Group, w.Kind.Kind) {
		if w.Manifests.On(c.Choice).Manifest != ownership.Sets {
			continue
		}
		field := ownership.Contested{
			Path: c.Member, Declared: w.Manifests.On(c.Member),
			Live: w.Live.Value(c.Member), Incoming: w.Incoming.Value(c.Member),
		}
		if !w.Manifests.Defaulted(c.Member, w.LiveEntries) {
			of := ownership.Context{Managers: w.Managers, Controlled: context.Controls(c.Member)}
			field.Owned = of.Resolve(c.Member, w.LiveEntries, field.Base)
		}
		decided := changeOf(field, w.Author.Writer)
		decided.Field.Contradicted = true
		decided = decided.decided()
		decided.From, decided.Owner, decided.Incoming = nil, ownership.Owned{Owner: field.Owner}, ""
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
