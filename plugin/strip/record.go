package strip

import (
	"errors"
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
}

func recordOf(s source.Subject) (record, error) {
	r := record{subject: s}
	text, annotated := s.Object.LastApplied()
	if annotated {
		r.annotation = jsontree.Valid([]byte(text))
	}
	entries, err := s.Object.Entries()
	if err != nil {
		return r, recordError(s, err)
	}
	release := ownership.HelmReleasePath()
	appliesRelease := func(e ownership.Entry) bool { return e.Operation == ownership.OperationApply && e.Contains(release) }
	unrecorded := func(e ownership.Entry) bool {
		return !annotated && e.Operation == ownership.OperationUpdate && e.Subresource == "" && s.Context.Managers.IsApplier(e)
	}
	if i := slices.IndexFunc(entries, unrecorded); i >= 0 {
		r.elsewhere = entries[i].Manager
	} else if s.Object.Value(release) != nil && !slices.ContainsFunc(entries, appliesRelease) {
		r.elsewhere = "helm"
	}
	return r, nil
}

// deletes returns why the next apply would delete a field that the manifest no longer sets, or "".
func (r record) deletes(f *ownership.Field, written fieldpath.Path) string {
	switch {
	case r.elsewhere != "":
		return fmt.Sprintf("the record of %s, which is not in the object, can contain it", r.elsewhere)
	case r.annotates(written):
		return "the last-applied annotation contains it; " + r.release(f.Path)
	case r.isOnlyApplied(f):
		return "no other manager manages it; " + r.release(f.Path)
	default:
		return ""
	}
}

// annotates reports whether the last-applied annotation declares a field or list element.
func (r record) annotates(path fieldpath.Path) bool {
	return r.annotation.Find(path) != nil
}

// isOnlyApplied reports whether only appliers manage a field. Whether an applier manages it that used another API version is not
// known, because names of fields can differ between versions.
func (r record) isOnlyApplied(f *ownership.Field) bool {
	isApplier := func(e ownership.Entry) bool { return r.subject.Context.Managers.IsApplier(e) }
	others := func(e ownership.Entry) bool { return !isApplier(e) }
	if slices.ContainsFunc(f.Entries, others) {
		return false
	}
	entries, _ := r.subject.Object.Entries() // recordOf has read them
	version := r.subject.Kind.GroupVersion().String()
	return len(f.Entries) > 0 || slices.ContainsFunc(entries, func(e ownership.Entry) bool {
		return e.Subresource == "" && isApplier(e) && e.APIVersion != version
	})
}

// release returns the remedy that makes it possible to drop a field.
func (r record) release(path fieldpath.Path) string {
	field := explain.Text(path)
	return fmt.Sprintf("to drop it in the future: kubectl handoff release %s '%s' -n %s", r.subject, field, r.subject.Namespace)
}

// recordError returns the error of an unreadable record, without the details of a Secret's, which can quote its contents.
func recordError(s source.Subject, err error) error {
	for _, record := range []error{ownership.ErrManagedFields, ownership.ErrLastApplied} {
		if s.IsSecret() && errors.Is(err, record) {
			err = record
		}
	}
	return fmt.Errorf("%w; apply the object again to rewrite it", err)
}
