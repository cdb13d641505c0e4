package ownership

import (
	"bytes"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// LetGo returns the fields of live that somebody other than an applier has written, and that the manifest applied now no
// longer sets although the one applied before has.
func (m Managers) LetGo(live []Entry, manifests Manifests) ([]fieldpath.Path, error) {
	if !manifests.LetsGo() {
		return nil, nil
	}
	var found []fieldpath.Path
	for _, e := range live {
		if e.Subresource == "status" || m.IsApplier(e) {
			continue
		}
		err := letGo(e.Fields, manifests.base, manifests.manifest, nil, func(path fieldpath.Path) {
			if !slices.ContainsFunc(found, path.Equals) {
				found = append(found, path)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("%w: the set of %s: %w", ErrManagedFields, e.Manager, err)
		}
	}
	return found, nil
}

// letGo walks a claimed set along with both manifests, as text, and only where the base has something that the manifest
// has not just the same: of a manifest in which little changes, little is looked at.
func letGo(fields, base, manifest []byte, at fieldpath.Path, found func(fieldpath.Path)) error {
	w := rawjson.WalkChecked(fields)
	innermost := true
	_, err := w.Object(func(name []byte) error {
		claimed, err := w.Value()
		if err != nil || string(name) == "." {
			return err
		}
		innermost = false
		element, err := fieldpath.DeserializePathElement(string(name))
		if err != nil {
			return err
		}
		was, _ := child(base, element)
		now, _ := child(manifest, element)
		if !was.Present() || bytes.Equal(was.Of(base), now.Of(manifest)) {
			return nil
		}
		return letGo(claimed.Of(fields), was.Of(base), now.Of(manifest), append(at.Copy(), element), found)
	})
	if err == nil && innermost && len(at) > 0 && len(manifest) == 0 {
		found(at)
	}
	return err
}
