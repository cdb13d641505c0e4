package audit

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// autoscaling is the manager by which the controller of HorizontalPodAutoscalers is known, through /scale.
const autoscaling = "kube-controller-manager"

// fight is who fights over a field.
type fight struct {
	// speakers speak for manifests that set the field.
	speakers []string
	// writer is neither one of them nor a person, and has written another value; empty where the manifests fight.
	writer string
}

func (f fight) is() bool { return f.writer != "" || len(f.speakers) > 1 }

// fightOver returns who fights over a field. It is one of these:
//   - The manifest that was applied last declares another value than the field has, and who wrote that is neither an applier
//     nor a person: both write again and again. What a person has changed is changed once; and a value that the API server
//     has only rewritten, 0.5 as 500m, is the applier's own.
//   - Two managers that speak for manifests set it.
//
// The size of what is autoscaled is another risk, and what an autoscaler has left behind is the manifest's again.
func fightOver(e explain.Explanation, author string, f *ownership.Field) fight {
	if f.Value == nil || f.Owner == ownership.Autoscaler || under(f.Path, "status") {
		return fight{}
	}
	found := fight{speakers: speakers(e, author, f)}
	byOwner := f.Owner.Decided() == ownership.Imperative || f.Owner == ownership.Controller
	if f.DeclaredValue == nil || len(f.Holders) == 0 || !byOwner {
		return found
	}
	writer := f.Holders[0]
	isPerson := e.Context.Managers.IsImperative(writer)
	hasGone := writer.Manager == autoscaling && writer.Subresource == "scale"
	if !isPerson && !hasGone && !e.Context.Managers.IsApplier(writer) {
		found.writer = writer.Manager
	}
	return found
}

// speakers are who speaks for a manifest that sets a field, each once: who applies it server-side; whose last-applied
// annotation declares it; and who claims it without recording a manifest, as Helm 3. What the API server has added for a
// client-side applier, that one does not set.
func speakers(e explain.Explanation, author string, f *ownership.Field) (names []string) {
	if author != "" && f.Declared == ownership.Sets {
		names = append(names, author)
	}
	for _, h := range f.Holders {
		recorded := h.Operation == ownership.OperationUpdate && h.Manager == author
		if e.Context.Managers.IsApplier(h) && h.Subresource == "" && !recorded && !slices.Contains(names, h.Manager) {
			names = append(names, h.Manager)
		}
	}
	return names
}

// annotator names the client-side applier whose last-applied annotation an object has; empty where it has none, or one that
// nobody keeps any more but the API server, for a server-side applier.
func annotator(e explain.Explanation) string {
	entries, err := e.Object.Entries()
	if err != nil {
		return ""
	}
	for _, entry := range ownership.Holders(entries, ownership.LastAppliedPath()) {
		if entry.Operation == ownership.OperationUpdate && e.Context.Managers.IsApplier(entry) {
			return entry.Manager
		}
	}
	return ""
}

func under(path fieldpath.Path, name string) bool {
	return len(path) > 0 && path[0].FieldName != nil && *path[0].FieldName == name
}

// isKey says whether a field only names the element of a list that it is in. Whoever sets anything in the element claims it.
func isKey(path fieldpath.Path) bool {
	last := len(path) - 1
	if last < 1 || path[last].FieldName == nil || path[last-1].Key == nil {
		return false
	}
	name := *path[last].FieldName
	return slices.ContainsFunc(*path[last-1].Key, func(key value.Field) bool { return key.Name == name })
}
