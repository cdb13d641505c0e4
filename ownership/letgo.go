package ownership

import (
	"bytes"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// LetGo returns the fields of live that somebody other than an applier has written, and that the manifest applied now no
// longer sets although the one applied before has: innermost fields, each once, in no order that means anything. The error is
// ErrManagedFields.
func (m Managers) LetGo(live []Entry, manifests Manifests) ([]fieldpath.Path, error) {
	if !manifests.letsGo() {
		return nil, nil
	}
	var differing []difference
	differences(manifests.base, manifests.manifest, nil, func(d difference) { differing = append(differing, d) })
	var found []fieldpath.Path
	for _, e := range live {
		if e.Subresource == "status" || m.IsApplier(e) {
			continue
		}
		for _, d := range differing {
			err := letGo(e.claimed(d.at), d.base, d.manifest, d.at, func(path fieldpath.Path) {
				if !slices.ContainsFunc(found, path.Equals) {
					found = append(found, path)
				}
			})
			if err != nil {
				return nil, fmt.Errorf("%w: the set of %s: %w", ErrManagedFields, e.Manager, err)
			}
		}
	}
	return found, nil
}

// difference is a place where the base has something that the manifest lacks or has otherwise, and no object on both sides.
type difference struct {
	at             fieldpath.Path
	base, manifest []byte // the latter nil where it lacks the place
}

// differences goes through both manifests once, as far as they are objects. Of manifests in which little changes, little is
// left to look at for each of those who claim something.
func differences(base, manifest []byte, at fieldpath.Path, add func(difference)) {
	type member struct{ name, value []byte }
	members := make([]member, 0, 16)
	rawjson.Members(manifest, func(name, value rawjson.Span) bool {
		members = append(members, member{name.Of(manifest), value.Of(manifest)})
		return true
	})
	rawjson.Members(base, func(name, value rawjson.Span) bool {
		quoted, was := name.Of(base), value.Of(base)
		var now []byte
		for _, m := range members {
			if bytes.Equal(rawjson.Name(m.name), rawjson.Name(quoted)) {
				now = m.value
				break
			}
		}
		if bytes.Equal(was, now) {
			return true
		}
		path := append(at.Copy(), fieldpath.FieldNameElement(string(rawjson.Name(quoted))))
		switch {
		case len(now) == 0 || now[0] == '[':
			add(difference{at: path, base: was, manifest: now})
		case now[0] == '{' && was[0] == '{':
			differences(was, now, path, add)
		}
		return true
	})
}

// claimed returns what the entry claims at path and beneath it, as text; nil where nothing.
func (e Entry) claimed(path fieldpath.Path) []byte {
	text := e.Fields
	for _, element := range path {
		text = rawjson.Find(text, "f:"+*element.FieldName).Of(text)
	}
	return text
}

// letGo walks a claimed set along with both manifests, as text, and only where the base has something that the manifest
// has not just the same: of a manifest in which little changes, little is looked at.
func letGo(fields, base, manifest []byte, at fieldpath.Path, found func(fieldpath.Path)) error {
	if len(fields) == 0 {
		return nil
	}
	innermost := true
	var err error
	rawjson.Members(fields, func(name, claimed rawjson.Span) bool {
		quoted := name.Of(fields)
		if string(quoted) == `"."` {
			return true
		}
		innermost = false
		serialized, _ := rawjson.Unquote(quoted)
		var element fieldpath.PathElement
		if element, err = fieldpath.DeserializePathElement(serialized); err != nil {
			return false
		}
		was, _ := child(base, element)
		now, _ := child(manifest, element)
		if was.Present() && !bytes.Equal(was.Of(base), now.Of(manifest)) {
			err = letGo(claimed.Of(fields), was.Of(base), now.Of(manifest), append(at.Copy(), element), found)
		}
		return err == nil
	})
	if err == nil && innermost && len(at) > 0 && len(manifest) == 0 {
		found(at)
	}
	return err
}
