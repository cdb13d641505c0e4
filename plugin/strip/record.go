package strip

import (
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// record is what is known about the manifest that an object was last applied from, which determines the fields that the next
// apply deletes.
type record struct {
	subject source.Subject
	// annotation is the last-applied configuration, nil without one.
	annotation *jsontree.Node
	// elsewhere is a client that records its manifest elsewhere, or "".
	elsewhere string
	// otherVersion reports whether an applier used another API version, in which fields can have other names.
	otherVersion bool
}

func recordOf(s source.Subject) (record, error) {
	r := record{subject: s}
	text, annotated := s.Object.LastApplied()
	if annotated {
		r.annotation = jsontree.Valid([]byte(text))
	}
	release := ownership.HelmReleasePath()
	hasRelease := s.Object.Value(release) != nil
	entries, err := s.Object.Entries()
	for _, e := range entries {
		if e.Operation == ownership.OperationApply && e.Contains(release) {
			hasRelease = false // Helm 4
		}
		if e.Subresource != "" || !r.isApplier(e) {
			continue
		}
		r.otherVersion = r.otherVersion || e.APIVersion != s.Kind.GroupVersion().String()
		if !annotated && e.Operation == ownership.OperationUpdate && r.elsewhere == "" {
			r.elsewhere = e.Manager
		}
	}
	if r.elsewhere == "" && hasRelease {
		r.elsewhere = "helm"
	}
	return r, err
}

func (r record) isApplier(e ownership.Entry) bool { return r.subject.Context.Managers.IsApplier(e) }

// deletes returns why the next apply would delete a field that the manifest no longer sets, with a remedy, or "".
func (r record) deletes(f *ownership.Field, written fieldpath.Path) string {
	isOther := func(e ownership.Entry) bool { return !r.isApplier(e) }
	var why string
	switch {
	case r.elsewhere != "":
		return fmt.Sprintf("the record of %s, which is not in the object, can contain it", r.elsewhere)
	case r.annotates(written):
		why = "the last-applied annotation contains it"
	case (len(f.Entries) > 0 || r.otherVersion) && !slices.ContainsFunc(f.Entries, isOther):
		why = "no other manager manages it"
	default:
		return ""
	}
	return fmt.Sprintf("%s; to drop it in the future: kubectl handoff release %s '%s'%s", why, r.subject,
		explain.Text(f.Path), r.subject.In())
}

// annotates reports whether the last-applied annotation declares a field or list element.
func (r record) annotates(path fieldpath.Path) bool { return r.annotation.Find(path) != nil }
