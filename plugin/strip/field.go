package strip

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/manifest"
)

// Action is what happens to a field of a manifest.
type Action string

// The actions.
const (
	// Dropped removes the field.
	Dropped Action = "dropped"
	// Set gives it the live value, because an apply without it would delete it.
	Set Action = "set"
	// Left leaves it, because it can neither be removed nor set.
	Left Action = "left"
)

// Field is a field of a manifest that an autoscaler or a controller owns in the live object.
type Field struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	Owner  string `json:"owner"`
	// By is the owner's name: a field manager, or "HorizontalPodAutoscaler/web".
	By string `json:"by"`
	// Live is the live value; missing for the contents of a Secret.
	Live json.RawMessage `json:"live,omitempty"`
	// Reason is why the field is not dropped, with a remedy.
	Reason string `json:"reason,omitempty"`

	at *manifest.Place
}

// keep keeps a field whose removal an apply would take for its deletion. The live values of a Secret are never written.
func (f *Field) keep(reason string) {
	f.Action, f.Reason = Set, reason
	if f.Live == nil {
		f.Action = Left
	}
}

// fieldsOf returns the fields of a manifest that the webhook keeps, whatever the manifest sets.
func fieldsOf(e explain.Explanation, o manifest.Object) (fields []Field) {
	s := e.Subject
	for i := range e.Fields {
		f := &e.Fields[i]
		if isIdentity(f.Path) || apitypes.InStatus(f.Path) || s.Context.Managers.IsEditable(f.Path, f.Owner) ||
			!e.Keeps(f, ownership.Sets, f.Declared) {
			continue
		}
		for _, path := range []fieldpath.Path{f.Path, apitypes.StringData(s.Kind.GroupKind(), f.Path)} {
			field := Field{
				Path: explain.Text(f.Path), Action: Dropped, Owner: f.Owner.Kind.String(), By: f.Owner.By,
				Live: s.Visible(f.Path, f.Value), at: o.Nearest(path),
			}
			switch {
			case path == nil:
				continue
			case len(field.at.Path) == len(path):
				if reason := deletes(e, f, path); reason != "" {
					field.keep(reason)
				}
			case field.at.IsNull():
				field.Action = Left
				field.Reason = fmt.Sprintf("line %d sets a parent to null; remove it from the manifest", field.at.Line())
			default:
				continue // the manifest does not set the field
			}
			fields = append(fields, field)
		}
	}
	return fields
}

// deletes returns why the next apply would delete a field that the manifest no longer sets, with a remedy, or "".
func deletes(e explain.Explanation, f *ownership.OwnedField, written fieldpath.Path) (why string) {
	s, r := e.Subject, e.Record
	isOther := func(e ownership.Entry) bool { return !s.Context.Managers.IsApplier(e) }
	otherVersion := slices.ContainsFunc(r.Versions, func(version string) bool { return version != s.Kind.GroupVersion().String() })
	switch {
	case r.Elsewhere != "":
		return r.Elsewhere
	case r.LastApplied.Find(written) != nil:
		why = "the last-applied annotation contains it"
	case (len(f.Entries) > 0 || otherVersion) && !slices.ContainsFunc(f.Entries, isOther):
		why = "no other manager manages it"
	default:
		return ""
	}
	return fmt.Sprintf("%s; to drop it in the future: kubectl handoff release %s '%s'%s", why, s, strings.ReplaceAll(explain.Text(f.Path), "'", `'\''`), s.In())
}

// isIdentity reports whether a field identifies the list element that it is in, or is in an element without identity. Without
// it, a manifest would describe another element.
func isIdentity(path fieldpath.Path) bool {
	isIndex := func(e fieldpath.PathElement) bool { return e.Index != nil }
	last := len(path) - 1
	return path[0].FieldName == nil || path[last].Key != nil || slices.ContainsFunc(path, isIndex) ||
		last > 0 && fieldpattern.IsKey(path[last-1], path[last])
}
