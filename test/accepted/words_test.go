package accepted_test

import (
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// words are the fields that the warnings of a write name.
type words struct {
	kept, notKept, cleared []fieldpath.Path
	// perhaps are fields that a warning with a truncated path may name.
	perhaps []fieldpath.Path
	// more reports whether a warning only counts further fields.
	more bool
	// open is a warning that handoff did not modify the write.
	open string
	// unread are warnings that name no field of the object.
	unread []string
}

var warningForm = regexp.MustCompile(`^handoff: (kept|not kept|cleared) (\S.*)$`)

// read returns the fields of live and twin that the warnings name.
func (o observation) read() (w words) {
	fields := o.candidates()
	for _, warning := range o.warnings {
		form := warningForm.FindStringSubmatch(warning)
		switch {
		case !strings.HasPrefix(warning, "handoff: "):
		case strings.HasPrefix(warning, "handoff: skipped, "):
			w.open = warning
		case strings.Contains(warning, " more fields"):
			w.more = true
		case form == nil:
			w.unread = append(w.unread, warning)
		default:
			paths := named(fields, form[2])
			if len(paths) > 1 {
				w.perhaps = append(w.perhaps, paths...)
				continue
			}
			var path fieldpath.Path
			if len(paths) == 1 {
				path = paths[0]
			}
			switch {
			case path == nil:
				w.unread = append(w.unread, warning)
			case form[1] == "kept":
				w.kept = append(w.kept, path)
			case form[1] == "not kept":
				w.notKept = append(w.notKept, path)
			default:
				w.cleared = append(w.cleared, path)
			}
		}
	}
	return w
}

// candidates returns all paths that a warning can name, by their texts.
func (o observation) candidates() map[string]fieldpath.Path {
	found := map[string]fieldpath.Path{}
	add := func(p fieldpath.Path) {
		for i := range p {
			prefix := p[:i+1].Copy()
			found[prefix.String()] = prefix
		}
	}
	if o.live == nil {
		return found
	}
	for _, set := range entrySetsOf(o.live) {
		set.Iterate(add)
	}
	for _, p := range o.schemas.leaves(o.live.Object) {
		add(p)
	}
	if o.twin != nil && o.refusedTwin == nil {
		for _, p := range o.schemas.leaves(o.twin.Object) {
			add(p)
		}
	}
	return found
}

// named returns the longest path that a text begins with. If the path's front is truncated, it returns the paths with the longest
// matching end.
func named(fields map[string]fieldpath.Path, text string) (best []fieldpath.Path) {
	longest := 0
	cut, isCut := strings.CutPrefix(text, "...")
	for name, path := range fields {
		shortest := len(name)
		if isCut {
			shortest = min(8, len(name))
		}
		for length := len(name); length >= shortest && length >= longest; length-- {
			if !begins(cut, name[len(name)-length:]) {
				continue
			}
			if length > longest {
				best, longest = nil, length
			}
			best = append(best, path)
			break
		}
	}
	if path := parsed(fields, text); best == nil && !isCut && path != nil {
		best = []fieldpath.Path{path}
	}
	return best
}

// begins reports whether a text begins with a path that ends there.
func begins(text, path string) bool {
	rest, ok := strings.CutPrefix(text, path)
	return ok && (rest == "" || strings.ContainsRune(" =,;:", rune(rest[0])) || strings.HasPrefix(rest, "..."))
}

// parsed parses a path in another syntax than that of fieldpath.
func parsed(fields map[string]fieldpath.Path, text string) fieldpath.Path {
	ends := regexp.MustCompile(`[ =,;]|$`).FindAllStringIndex(text, -1)
	slices.Reverse(ends)
	for _, end := range ends {
		pattern, err := ownership.ParsePattern(text[:end[0]])
		if err != nil {
			continue
		}
		for _, path := range fields {
			if len(path) == len(pattern) && pattern.Matches(path) {
				return path
			}
		}
	}
	return nil
}

func (w words) name(p fieldpath.Path) bool {
	is := func(q fieldpath.Path) bool { return related(p, q) }
	return slices.ContainsFunc(w.perhaps, is) || slices.ContainsFunc(w.kept, is) || slices.ContainsFunc(w.notKept, is) || slices.ContainsFunc(w.cleared, is)
}
