package webhook_test

import (
	"slices"

	"github.com/ownership-handoff/handoff/test/ledger"
)

// The model of the histories is test/ledger: who set what, in which order. This file has the terms of both, and what only reviews can show.

// outcome is what the model expects of a field.
type outcome = ledger.Outcome

const (
	through = ledger.Through // the field gets the value that the write gives it
	kept    = ledger.Kept    // the field has its live value, and left the manifest
	unknown = ledger.Unknown // docs/decisions.md does not say
)

// book returns the ledger of an object that does not exist.
func (k objectKind) book() ledger.Object {
	of := ledger.Kind{Name: k.gvk.Kind}
	if k.scale != nil {
		of.Scale = k.scale.String()
	}
	if k.defaulted {
		of.Defaults = ledger.Values{of.Scale: int64(1)}
	}
	o := ledger.New(of)
	o.Mode = "enforce"
	return o
}

// write returns a write in the terms of the ledger.
func (k objectKind) write(by client, sets settings) ledger.Write {
	verbs := map[how]ledger.Verb{
		clientSide: ledger.Apply, replacing: ledger.Replace, serverSide: ledger.ServerApply, helm3: ledger.Helm, updating: ledger.Edit, scaling: ledger.Scale,
	}
	roles := map[role]ledger.Role{applier: ledger.Applier, person: ledger.Person, controller: ledger.Other, autoscaler: ledger.Autoscaler}
	w := ledger.Write{Verb: verbs[by.how], By: by.manager, As: roles[by.role], Save: by.how == replacing, Force: true, Sets: ledger.Values{}}
	if by.how != updating && by.how != scaling {
		w.Sets = k.reader.LeavesOf(unmarshalOrPanic(k.manifestOf(sets)))
	}
	for i, value := range sets {
		path := k.settable[i].path
		w.Sets[path.String()] = value
		for at, element := range path { // an edit adds missing elements
			if by.how == updating && element.Key != nil {
				key := (*element.Key)[0]
				w.Sets[path[:at+1].String()+"."+key.Name] = key.Value.Unstructured()
			}
		}
	}
	return w
}

// outcomes expects the outcomes of all fields.
func (h *history) outcomes() map[int]outcome {
	_, decided, err := h.book.After(h.kind.write(h.writer, h.manifest))
	if err != nil {
		panic(err)
	}
	expected := map[int]outcome{}
	for i, field := range h.kind.settable {
		path := field.path.String()
		expected[i] = decided[path]
		if h.kind.scale != nil && i == 0 && h.scaler.name != "" {
			continue
		}
		forgotten := h.ruled[i] && slices.ContainsFunc(h.book.Managers(path), mayBeForgotten)
		if forgotten || h.kind.scale != nil && i == 0 && expected[i] == kept && h.takesOver() {
			expected[i] = unknown
		}
	}
	return expected
}

// scale expects the scale field's outcome.
func (h *history) scale() outcome { return h.outcomes()[0] }

// takesOver reports whether the writer replaces the object with the manifest that another applier recorded: its write looks like that
// of a client that records nothing and sets the default (docs/limits.md).
func (h *history) takesOver() bool {
	return h.writer.how == replacing && h.annotator != h.writer &&
		lastAppliedIn(unmarshalOrPanic(h.live)) == lastAppliedIn(unmarshalOrPanic(h.incoming))
}

// mayBeForgotten reports whether a client that applied the object may later count as a controller: no list names it, and another
// applier may have taken over what it is known by.
func mayBeForgotten(e ledger.Entry) bool {
	return isOneOf(e.Manager, "ci", "OpenAPI-Generator", "terraform-provider-helm_v3.0.2_x5", "my-gitops")
}

// recognized reports whether the writer can be known as an applier: it is listed, applies server-side, or has written the
// annotation by which it is known, or most of the object.
func (h *history) recognized() bool {
	switch h.writer.manager {
	case "ci", "OpenAPI-Generator":
		return h.annotator == h.writer || h.creator == h.writer ||
			lastAppliedIn(unmarshalOrPanic(h.live)) != lastAppliedIn(unmarshalOrPanic(h.incoming))
	case "terraform-provider-helm_v3.0.2_x5":
		return h.releaser == h.writer || h.releaser == (client{})
	default:
		return true
	}
}
