package explain

import (
	"cmp"
	"slices"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Record is where the manifests are recorded that an object was applied from.
type Record struct {
	// LastApplied is the last-applied configuration, nil if the object has none. Writer is the client-side applier that wrote it,
	// "last-applied" if nothing shows it.
	LastApplied *jsontree.Node
	Writer      string
	// Applies are the managedFields entries of server-side appliers, Updates those of other appliers.
	Applies, Updates []ownership.Entry
	// Versions are the API versions of the manifests in these records, sorted.
	Versions []string
	// Elsewhere says that a client records its manifest in neither of them, and what a user can do who wants to stop managing a field
	// through such a manifest; otherwise it is empty.
	Elsewhere string
}

// kappAnnotation contains the manifest that kapp applied last.
const kappAnnotation = "kapp.k14s.io/original"

// recordOf reads the record of an object whose entries and annotation can be read.
func recordOf(s source.Subject) (r Record) {
	r.LastApplied, _ = s.Object.LastAppliedManifest()
	if version, ok := r.LastApplied.At("apiVersion").String(); ok {
		r.Versions = append(r.Versions, version)
	}
	entries, _ := s.Object.Entries()
	for _, e := range entries {
		switch {
		case e.Subresource != "" || !s.Context.Managers.IsApplier(e):
		case e.Operation == managedfields.OperationApply:
			r.Applies = append(r.Applies, e)
			r.Versions = append(r.Versions, e.APIVersion)
		default:
			r.Updates = append(r.Updates, e)
			if e.Contains(ownership.LastAppliedPath()) {
				r.Writer = cmp.Or(r.Writer, e.Manager)
			}
		}
	}
	r.Writer = cmp.Or(r.Writer, "last-applied")
	slices.Sort(r.Versions)
	r.Versions = slices.Compact(r.Versions)
	r.Elsewhere = r.elsewhere(s)
	return r
}

func (r Record) elsewhere(s source.Subject) string {
	annotated := func(name string) bool { return s.Object.At("metadata", "annotations", name) != nil }
	isHelm := func(e ownership.Entry) bool { // or a program with its library
		return e.Manager == "helm" || e.Manager == "helm-controller" || e.Contains(ownership.HelmReleasePath())
	}
	const records, cannotEdit = " records its manifest ", ", which kubectl handoff cannot edit; "
	switch {
	case annotated(kappAnnotation):
		return "kapp" + records + "in its annotation " + kappAnnotation + cannotEdit + "add a rebaseRule for the field to kapp's configuration"
	// Helm 3 sends updates; Helm 4 uses server-side apply and is not affected.
	case (annotated(ownership.HelmReleaseAnnotation) || slices.ContainsFunc(r.Updates, isHelm)) && !slices.ContainsFunc(r.Applies, isHelm):
		return "Helm" + records + "in the Secret of the release" + cannotEdit +
			"give the chart a condition that renders the live value, or enable handoff in the namespace"
	case r.LastApplied != nil || len(r.Updates) == 0:
		return ""
	case r.Updates[0].Manager == managedfields.ClientSideApply:
		return "the last-applied annotation was removed, so the fields that its manifest declares are unknown; " +
			"restore it with kubectl apply set-last-applied --create-annotation -f FILE"
	default:
		return r.Updates[0].Manager + records + "elsewhere" + cannotEdit + "see its documentation on ignoring fields"
	}
}

// Declarer returns the applier whose manifest sets a field, "" if none does or nothing shows it. recorded is false for an applier that
// manages the field and records its manifest elsewhere: the manifest may have dropped the field since.
func (e Explanation) Declarer(f *ownership.OwnedField) (applier string, recorded bool) {
	if f.Declared != ownership.Lacks {
		return e.Record.Writer, true
	}
	for _, entry := range f.Entries {
		switch {
		case entry.Subresource != "" || !e.Subject.Context.Managers.IsApplier(entry):
		case entry.Operation == managedfields.OperationApply:
			return entry.Manager, true
		case !entry.Contains(ownership.LastAppliedPath()):
			applier = cmp.Or(applier, entry.Manager)
		}
	}
	return applier, false
}

// declared returns what the recorded manifests declare about a field: "yes", "no", "null", a value that differs from the
// field's, or "?" if its manager does not record its manifest.
func (e Explanation) declared(f *ownership.OwnedField) string {
	applier, recorded := e.Declarer(f)
	switch {
	case f.Declared == ownership.Clears:
		return "null"
	case f.DeclaredValue != nil:
		return e.Subject.Show(f.Path, f.DeclaredValue)
	case recorded:
		return "yes"
	case e.MayBeLost(f), applier != "" && e.Record.LastApplied == nil:
		return "?"
	default:
		return "no"
	}
}

// MayBeLost reports whether an applier, of whose manifest only managedFields tell, may set a field without having it in its entry: the API
// server removes it from there when another manager writes it, and handoff when it keeps the value of an autoscaler or a controller.
func (e Explanation) MayBeLost(f *ownership.OwnedField) bool {
	isKept := f.Owner.Kind == ownership.Autoscaler || f.Owner.Kind == ownership.Controller
	isWritten := f.Owner.Kind == ownership.Imperative || f.Owner.Kind == ownership.Other
	if !isKept && !isWritten || apitypes.InStatus(f.Path) {
		return false
	}
	return slices.ContainsFunc(slices.Concat(e.Record.Applies, e.Record.Updates), func(applier ownership.Entry) bool {
		// A later server-side apply would have taken the field back; a later update by Helm 3 need not contain it. RFC 3339 in UTC, as
		// the API server writes it, sorts by time. Entries of /scale have none.
		isBefore := applier.Operation == managedfields.OperationUpdate || f.Since == "" || f.Since >= applier.Time
		return !applier.Contains(ownership.LastAppliedPath()) && (isKept || isBefore)
	})
}
