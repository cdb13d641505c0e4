package strip

import (
	"encoding/json"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/source"
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

	path fieldpath.Path
	live []byte
	at   *manifest.Place
}

// fieldsOf returns the fields of a manifest that autoscalers and controllers own. Like the webhook, it decides by the rows of the
// decision table for a manifest that sets a field.
func fieldsOf(o manifest.Object, s source.Subject, r record) ([]Field, error) {
	owned, err := s.Context.Fields(s.Object)
	if err != nil {
		return nil, err
	}
	var fields []Field
	for i := range owned {
		f := &owned[i]
		if f.Value == nil || isIdentity(f.Path) || *f.Path[0].FieldName == "status" || s.Nameless(f.Path) || !keeps(s, f) {
			continue
		}
		for _, path := range []fieldpath.Path{f.Path, ownership.StringData(s.Kind.GroupKind(), f.Path)} {
			field := Field{
				Path: explain.Text(f.Path), Action: Dropped, Owner: f.Owner.Kind.String(), By: f.Owner.By,
				Live: s.Visible(f.Path, f.Value), path: f.Path, live: f.Value, at: o.Nearest(path),
			}
			switch {
			case path == nil:
				continue
			case len(field.at.Path) == len(path):
				if reason := r.deletes(f, path); reason != "" {
					field.keep(s, reason)
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
	return fields, nil
}

// keep keeps a field whose removal an apply would take for its deletion. The live values of a Secret are never written.
func (f *Field) keep(s source.Subject, reason string) {
	f.Reason = reason
	if f.Action = Set; s.Hidden(f.path) {
		f.Action = Left
	}
}

// keeps reports whether the decision table keeps a field that a manifest sets, whatever it sets. A field with an unknown owner is not kept.
func keeps(s source.Subject, f *ownership.Field) bool {
	declared := ownership.Declared{Manifest: ownership.Sets, Base: f.Declared}
	return f.Owner.Kind != ownership.Unknown && !s.Context.Managers.IsEditable(f.Path, f.Owner) &&
		merge.LookupApply(f.Owner.Kind, declared, s.Kind.GroupKind(), f.Path, s.Context.IsScale(f.Path)).Verdict == merge.Keep
}

// isIdentity reports whether a field identifies the list element that it is in, or is in an element without identity. Without
// it, a manifest would describe another element.
func isIdentity(path fieldpath.Path) bool {
	isIndex := func(e fieldpath.PathElement) bool { return e.Index != nil }
	return path[0].FieldName == nil || path[len(path)-1].Key != nil || slices.ContainsFunc(path, isIndex) || manifest.IsKey(path)
}
