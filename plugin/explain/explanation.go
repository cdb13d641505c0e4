// Package explain shows who owns each field of an object, as a tree, a table, data or sentences. Packages ownership and merge
// determine the owners and decisions.
package explain

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Explanation is an object with all of its fields.
type Explanation struct {
	Subject source.Subject
	Fields  ownership.OwnedFields
	Record  Record

	// changes reports whether an apply of the last-applied manifest changes the value at a path.
	changes func() func(fieldpath.Path) bool
}

// maxDepth is how deep an object can be nested with fields that handoff looks at, and their managedFields: the path of each of n fields at
// depth d takes n*d.
const maxDepth = jsontree.MaxDepth + 8

func isTooDeep(text []byte) bool {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := decoder.ReadToken(); err != nil || decoder.StackDepth() > maxDepth {
			return err == nil
		}
	}
}

// Of explains a subject. It returns an error if no owner at all is known. If some are, missing records are gaps.
func Of(s source.Subject) (Explanation, error) {
	e := Explanation{Subject: s}
	if isTooDeep(s.Object.Text()) {
		return e, fmt.Errorf("%s: nested deeper than %d levels, as in no known kind; see kubectl get -o yaml --show-managed-fields", s, maxDepth)
	}
	var err error
	if e.Fields, err = s.Context.OwnedFields(s.Object); err != nil {
		for _, record := range []error{ownership.ErrManagedFields, ownership.ErrLastApplied} {
			if s.IsSecret() && errors.Is(err, record) { // the details can quote the contents
				err = record
			}
		}
		return e, fmt.Errorf("%s: %w; apply the object again to rewrite it", s, err)
	}
	e.Fields = slices.DeleteFunc(e.Fields, func(f ownership.OwnedField) bool { return s.Nameless(f.Path) })
	e.Record = recordOf(s)
	e.changes = sync.OnceValue(func() func(fieldpath.Path) bool {
		return s.Changes(e.Record.LastApplied.Text(), e.Record.LastApplied.Text())
	})
	isOwned := false
	for i := range e.Fields {
		f := &e.Fields[i]
		isOwned = isOwned || f.Owner.Kind != ownership.Unknown
		scales := f.Owner.Kind == ownership.Autoscaler && len(f.Entries) > 0 && f.Entries[0].Subresource == "scale"
		if scales && f.Since == "" && !s.Context.Managers.IsImperative(f.Entries[0]) {
			f.Since = s.Scaled // entries of /scale have no time
		}
	}
	if len(s.Object.ManagedFields()) == 0 {
		e.Subject.Gap("no managedFields, so owners are known only from annotations and autoscalers; " +
			"export it with kubectl get -o yaml --show-managed-fields")
		if !isOwned {
			return e, errors.New(e.Subject.Gaps[len(e.Subject.Gaps)-1])
		}
	}
	if updates := e.Record.Updates; len(updates) > 0 && e.Record.LastApplied == nil {
		e.Subject.Gap("no last-applied annotation, so the fields that the manifest of %s declares are unknown; check the manifest itself",
			updates[0].Manager)
	}
	return e, nil
}
