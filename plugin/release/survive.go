package release

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// unsafe returns an error for each field that the next kubectl apply, of the last-applied manifest without the fields, would
// change. Server-side apply needs no such check: it removes only fields that its own entry alone contains.
func (p Plan) unsafe() (refusals []error) {
	if p.was == "" {
		return nil
	}
	errs := p.survive(p.text, p.Paths)
	wider := map[string]fieldpath.Path{} // by parent
	for i, path := range p.Paths {
		if errs[i] == nil {
			continue
		}
		in := path[:len(path)-1].String()
		if _, known := wider[in]; !known {
			wider[in] = p.wider(path)
		}
		remedy := "keep it in the manifest"
		if whole := wider[in]; whole != nil {
			remedy = "release all of " + explain.Text(whole) + " instead"
		}
		refusals = append(refusals, fmt.Errorf("%s: %s %w; %s", p.Subject, explain.Text(path), errs[i], remedy))
	}
	return refusals
}

// survive simulates an apply of a manifest that has been applied before, and returns for each path why it would change, or nil.
func (p Plan) survive(manifest string, paths []fieldpath.Path) []error {
	errs := make([]error, len(paths))
	result, err := p.Subject.ThreeWay([]byte(manifest), []byte(manifest), p.Subject.Object.Text())
	if err != nil {
		err = fmt.Errorf("cannot be released, because a manifest without it cannot be applied: %w", err)
	}
	live, applied := jsontree.Valid(p.Subject.Object.Text()), jsontree.Valid(result)
	for i, path := range paths {
		was, noLive := value.FromJSON(live.Find(path).Text())
		is, gone := value.FromJSON(applied.Find(path).Text())
		switch {
		case err != nil:
			errs[i] = err
		case noLive != nil || gone != nil || !value.Equals(was, is):
			errs[i] = errors.New("is part of a value that kubectl apply treats as atomic: a manifest without it would still change it")
		}
	}
	return errs
}

// wider returns the nearest ancestor of a path that can be released, or nil.
func (p Plan) wider(path fieldpath.Path) fieldpath.Path {
	for n := len(path) - 1; n > 0 && refuseIdentity(p.Subject, path[:n]) == nil; n-- {
		manifest, _ := p.without(path[:n])
		if p.survive(manifest, []fieldpath.Path{path[:n]})[0] == nil {
			return path[:n]
		}
	}
	return nil
}

// Manifests returns the manifest with and without the fields, to check whether the API server would create the object without them.
// If it is not recorded, as with server-side apply, it is what appliers manage of the live object: the API server would refuse to
// create an object with what it has allocated itself, as a node port.
func (p Plan) Manifests() (with, without []byte) {
	if p.was != "" {
		return []byte(p.was), []byte(p.text)
	}
	applied := jsontree.Valid(source.WithoutGenerated(p.Subject.Object.Text()))
	mayGo := func(path fieldpath.Path) bool { return len(path) > 0 && !containsIdentity(path) }
	for i := range p.fields {
		if f := &p.fields[i]; !slices.ContainsFunc(f.Entries, p.isApplier) {
			applied.Cut(f.Path, mayGo)
		}
	}
	with = applied.Remaining()
	object := jsontree.Valid(with)
	for _, path := range p.Paths {
		object.Cut(path, removableIfEmpty)
	}
	return with, object.Remaining()
}
