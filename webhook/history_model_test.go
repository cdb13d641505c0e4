package webhook_test

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/test/document"
)

// This file is docs/decisions.md once more, in terms of the facts of a history: who set what, in which order. It shares no code
// with the product, and does not read managedFields.

// outcome is what the model expects of a field.
type outcome int

const (
	through outcome = iota // the field gets the value that the write gives it
	kept                   // the field has its live value, and left the manifest
	unknown                // docs/decisions.md does not say
)

// scale expects the scale field's outcome.
func (h *history) scale() outcome {
	f, live := h.facts, h.facts.values[0]
	if live == nil {
		return through
	}
	sets, isZero := h.sets(0), sameJSON(live, 0)
	switch {
	case f.scaler.name != "" && (!isZero || f.scaler.self):
		return kept
	case f.scaler.name != "" && h.declaresZero() != through:
		return h.declaresZero()
	case f.scaler.name != "": // the manifest's own 0
	case slices.ContainsFunc(f.managers[0], func(c client) bool { return c.role == autoscaler }):
		return kept
	case f.ruled[0]:
		if owned := h.ruledScale(); owned != through {
			return owned
		}
	}
	switch {
	case sets:
		return through // row 6, or the manifest's own field
	case h.takesOver():
		return unknown
	default:
		return kept // rows 3 and 4
	}
}

// takesOver reports whether the writer replaces the object with the manifest that another applier recorded: its write looks like that
// of a client that records nothing and sets the default (docs/limits.md).
func (h *history) takesOver() bool {
	return h.writer.how == replacing && h.annotator != h.writer &&
		lastAppliedIn(unmarshalOrPanic(h.live)) == lastAppliedIn(unmarshalOrPanic(h.incoming))
}

// declaresZero expects what becomes of a 0 that the manifest or the base may declare, and that is otherwise a person's.
func (h *history) declaresZero() outcome {
	base, hasBase := h.facts.annotation[0]
	says, hasSays := h.manifest[0]
	switch {
	case h.writer.how == helm3:
		return unknown // it records nothing
	case slices.ContainsFunc(h.facts.managers[0], func(c client) bool { return c.role == autoscaler }):
		return unknown // two autoscalers
	case hasSays && sameJSON(says, 0):
		return through
	case h.writer.how == serverSide && slices.Contains(h.facts.managers[0], h.writer):
		return through
	case h.writer.isClientSide() && hasBase && sameJSON(base, 0):
		return through
	case slices.ContainsFunc(h.facts.managers[0], func(c client) bool { return c.role == applier }):
		return unknown // another applier declares 0
	default:
		return kept
	}
}

// ruledScale is the scale field under a rule, without a scaler.
func (h *history) ruledScale() outcome {
	f, live := h.facts, h.facts.values[0]
	base, hasBase := f.annotation[0]
	isBase := hasBase && sameJSON(base, live)
	switch managers := f.managers[0]; {
	case slices.ContainsFunc(managers, func(c client) bool { return c.role == controller }):
		if sameJSON(live, 0) && h.declaresZero() != kept {
			return unknown
		}
		return kept
	case slices.ContainsFunc(managers, client.mayBeForgotten):
		return unknown
	case len(managers) > 0 || sameJSON(live, 1):
		return through
	case isBase && !h.writer.isClientSide():
		return unknown // the annotation is another writer's base
	case isBase:
		return through
	default:
		return kept
	}
}

// outcomes expects the outcomes of all fields.
func (h *history) outcomes() map[int]outcome {
	expected := map[int]outcome{}
	incoming := unmarshalOrPanic(h.incoming)
	for i, field := range h.kind.settable {
		live, present := h.facts.values[i]
		switch {
		case h.kind.scale != nil && i == 0:
			expected[i] = h.scale()
		case h.facts.ruled[i] && slices.ContainsFunc(h.facts.managers[i], client.mayBeForgotten):
			expected[i] = unknown
		case present && live != nil && h.ownedByController(i) && hasElements(incoming, field.path), h.unitKept(field.unit):
			expected[i] = kept
		default:
			expected[i] = through
		}
	}
	return expected
}

// ownedByController reports whether a rule names a field and a controller manages it.
func (h *history) ownedByController(i int) bool {
	isOther := func(c client) bool { return c.role == controller || c.role == autoscaler }
	return h.facts.ruled[i] && slices.ContainsFunc(h.facts.managers[i], isOther)
}

// unitKept is row 3: a client-side apply drops a unit of which live has another value than the base, that someone else manages.
func (h *history) unitKept(unit string) bool {
	base := h.facts.annotation
	if unit == "" || !h.writer.isClientSide() || base == nil {
		return false
	}
	hadAny, differs, othersManage := false, false, false
	for i, field := range h.kind.settable {
		if field.unit != unit {
			continue
		}
		if _, mentions := h.manifest[i]; mentions {
			return false
		}
		had, isSet := base[i]
		hadAny = hadAny || isSet && had != nil
		differs = differs || !sameJSON(had, h.facts.values[i])
		othersManage = othersManage || slices.ContainsFunc(h.facts.managers[i], func(c client) bool {
			return c.role != applier || c.how == serverSide
		})
	}
	return hadAny && differs && othersManage
}

// hasElements reports whether the list elements of a path are there: the elements that a manifest drops go with all in them.
func hasElements(object map[string]any, path fieldpath.Path) bool {
	for length := range path {
		if _, found := document.Get(object, path[:length+1]); !found && path[length].Key != nil {
			return false
		}
	}
	return true
}

// sets reports whether the manifest gives a field a value. What Helm 3 changes counts as set by its manifest.
func (h *history) sets(i int) bool {
	if h.writer.how == helm3 {
		value, ok := h.kind.valuesOf(unmarshalOrPanic(h.incoming))[i]
		return ok && !sameJSON(value, h.facts.values[i])
	}
	value, ok := h.manifest[i]
	return ok && value != nil
}

// mayBeForgotten reports whether a client that applied the object may later count as a controller: no list names it, and another
// applier may have taken over what it is known by.
func (c client) mayBeForgotten() bool {
	return isOneOf(c.manager, "ci", "OpenAPI-Generator", "terraform-provider-helm_v3.0.2_x5", "my-gitops")
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
