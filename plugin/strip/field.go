package strip

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
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
	Path   fieldpath.Path
	Owner  ownership.FieldOwner
	Action Action
	// Reason is why the field is not dropped, with a remedy.
	Reason string

	live []byte
	at   *manifest.Place
	// written is the path in the manifest, which differs from Path in the stringData of a Secret.
	written fieldpath.Path
}

// fieldsOf returns the fields of a manifest that autoscalers and controllers own. Like the webhook, it decides by the rows of the
// decision table for a manifest that sets a field.
func fieldsOf(o manifest.Object, s source.Subject) ([]Field, error) {
	owned, err := s.Context.Fields(s.Object)
	if err != nil {
		return nil, recordError(s, err)
	}
	record, err := recordOf(s)
	if err != nil {
		return nil, err
	}
	var fields []Field
	for i := range owned {
		f := &owned[i]
		if f.Value == nil || isIdentity(f.Path) || *f.Path[0].FieldName == "status" || s.Nameless(f.Path) || !keeps(s, f) {
			continue
		}
		for _, path := range writtenAs(s.Kind.GroupKind(), f.Path) {
			field := Field{Path: f.Path, Owner: f.Owner, live: f.Value, written: path, Action: Dropped}
			if field.at = o.Find(path); field.at != nil {
				field.Reason = record.deletes(f, path)
				fields = append(fields, field)
			} else if field.at = nullIn(o, path); field.at != nil {
				field.Action, field.Reason = Left, fmt.Sprintf("line %d sets a parent to null; remove it from the manifest", field.at.Line())
				fields = append(fields, field)
			}
		}
	}
	return fields, nil
}

// keeps reports whether the decision table keeps a field that a manifest sets. A field with an unknown owner is not kept.
func keeps(s source.Subject, f *ownership.Field) bool {
	declared := ownership.Declared{Manifest: ownership.Sets, Base: f.Declared}
	return f.Owner.Kind != ownership.Unknown &&
		merge.LookupApply(f.Owner.Kind, declared, s.Kind.GroupKind(), f.Path, s.Context.IsScale(f.Path)).Verdict == merge.Keep
}

// isIdentity reports whether a field identifies the list element that it is in, or is in an element without identity. Without
// it, a manifest would describe another element.
func isIdentity(path fieldpath.Path) bool {
	if path[0].FieldName == nil || slices.ContainsFunc(path, func(e fieldpath.PathElement) bool { return e.Index != nil }) {
		return true
	}
	last := path[len(path)-1]
	if last.Key != nil {
		return true
	}
	if last.FieldName == nil || len(path) == 1 {
		return false
	}
	in := path[len(path)-2]
	return in.Key != nil && slices.ContainsFunc(*in.Key, func(f value.Field) bool { return f.Name == *last.FieldName })
}

// writtenAs returns the paths by which a manifest can set a field.
func writtenAs(kind schema.GroupKind, path fieldpath.Path) []fieldpath.Path {
	paths := []fieldpath.Path{path}
	if alias := ownership.StringData(kind, path); alias != nil {
		paths = append(paths, alias)
	}
	return paths
}

// nullIn returns the ancestor of a path that a manifest sets to null, or nil.
func nullIn(o manifest.Object, path fieldpath.Path) *manifest.Place {
	for n := len(path) - 1; n > 0; n-- {
		if at := o.Find(path[:n]); at != nil {
			if at.Node.Kind == yaml.ScalarNode && at.Node.Tag == "!!null" {
				return at
			}
			return nil
		}
	}
	return nil
}

// isLive reports whether the manifest sets the live value.
func (f *Field) isLive() bool {
	live, err := value.FromJSON(f.live)
	var is any
	return err == nil && f.at.Node.Decode(&is) == nil && value.Equals(value.NewValueInterface(is), live)
}
