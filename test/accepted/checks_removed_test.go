package accepted_test

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func (o observation) removed() (found []finding) {
	if !o.compared() {
		return nil
	}
	for _, p := range o.schemas.leaves(o.base) {
		declared, _ := at(o.base, p)
		live, isLive := at(o.live.Object, p)
		if _, still := at(o.manifest, p); still || !isLive || !within(declared, live) || scale(p) || o.controlled(p) {
			continue
		}
		if isMore(declared, live) {
			continue // another manager has added to an atomic map
		}
		if equal(o.twin.Object, o.live.Object, p) || equal(o.stored.Object, o.twin.Object, p) {
			continue
		}
		got, _ := at(o.stored.Object, p)
		by := entrySetsOf(o.live).by(p)
		found = append(found, finding{
			check: checkRemoval, at: p.String(), cause: "managed by " + strings.Join(by, ", "),
			text: fmt.Sprintf("%s: still %s, in live managed by %v; warnings: %q", p, text(got), by, o.warnings),
		})
	}
	return found
}

// silent checks fields that another manager changed and the manifest drops, and fields of controller rules.
func (o observation) silent() (found []finding) {
	if !o.compared() || o.words.more {
		return nil
	}
	entrySets := entrySetsOf(o.live)
	for _, p := range o.schemas.leaves(o.live.Object) {
		if equal(o.live.Object, o.stored.Object, p) || o.words.name(p) || o.elementGone(p) || chosen(p) {
			continue
		}
		if !o.controlled(p) && (!o.drops(p) || !o.changed(p) || !others(entrySets.by(p), o.applier)) {
			continue
		}
		was, _ := at(o.live.Object, p)
		is, _ := at(o.stored.Object, p)
		found = append(found, finding{
			check: checkSilent, at: p.String(), cause: o.silence(p, entrySets.by(p)),
			text: fmt.Sprintf("%s: was %s, managed by %v; is %s; warnings: %q", p, text(was), entrySets.by(p), text(is), o.warnings),
		})
	}
	return found
}

// silence describes how a field was lost.
func (o observation) silence(p fieldpath.Path, by []string) string {
	_, declared := at(o.base, p)
	_, sets := at(o.manifest, p)
	return fmt.Sprintf("controlled: %t, in base: %t, in the manifest: %t, managed by %s", o.controlled(p), declared, sets, strings.Join(by, ", "))
}

// isMore reports whether a live value has more members than the manifest declares, at any depth.
func isMore(declared, live any) bool {
	switch said := declared.(type) {
	case map[string]any:
		is, ok := live.(map[string]any)
		more := ok && len(is) > len(said)
		for name := range said {
			more = more || ok && isMore(said[name], is[name])
		}
		return more
	case []any:
		is, ok := live.([]any)
		for i := range said {
			if ok && i < len(is) && isMore(said[i], is[i]) {
				return true
			}
		}
		return false
	default:
		return false
	}
}

// drops reports whether the base has a field or a parent of it that is missing from the manifest. The stringData of a Secret's
// manifest counts as data.
func (o observation) drops(p fieldpath.Path) bool {
	if _, sets := at(o.manifest, append(fieldpath.MakePathOrDie("stringData"), p[1:]...)); sets && p[0].FieldName != nil && *p[0].FieldName == "data" {
		return false
	}
	for i := 1; i <= len(p); i++ {
		value, now := at(o.manifest, p[:i])
		if now && value == nil {
			return false // the manifest sets null
		}
		if _, before := at(o.base, p[:i]); !now {
			return before
		}
	}
	return false
}

// says reports whether the manifest has a field, or null for a parent of it.
func (o observation) says(p fieldpath.Path) bool {
	for i := 1; i <= len(p); i++ {
		if value, now := at(o.manifest, p[:i]); !now {
			return false
		} else if value == nil {
			return true
		}
	}
	return true
}

// changed reports whether the live value differs from the last manifest's.
func (o observation) changed(p fieldpath.Path) bool {
	declared, ok := at(o.base, p)
	live, _ := at(o.live.Object, p)
	return !ok || !within(declared, live)
}

// others reports whether users or controllers manage a field and the applier does not. If the applier manages it too, nobody has
// changed its value.
func others(entries []string, applier string) bool {
	return !slices.Contains(entries, applier) && slices.ContainsFunc(entries, func(entry string) bool {
		return !strings.HasPrefix(entry, clientSide) && !strings.HasSuffix(entry, "/Apply")
	})
}
