package release

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// reachable returns an error if an object's manifest is not recorded where a plan can edit it, or in another API version than the
// object was read in: field names can differ between versions.
func reachable(e explain.Explanation) error {
	s, r := e.Subject, e.Record
	switch {
	case r.Elsewhere != "":
		return fmt.Errorf("%s: %s", s, r.Elsewhere)
	case r.LastApplied == nil && len(r.Applies) == 0:
		return fmt.Errorf("%s: no manifest is recorded, neither in a last-applied annotation nor by server-side apply, "+
			"so no apply would delete its fields; nothing to release", s)
	case len(r.Versions) == 0 || slices.Equal(r.Versions, []string{s.Kind.GroupVersion().String()}):
		return nil
	}
	remedy := "change the manifests to one version, and apply each once"
	if version, err := schema.ParseGroupVersion(r.Versions[0]); len(r.Versions) == 1 && err == nil && version.Group == s.Kind.Group {
		remedy = fmt.Sprintf("name the object as %s.%s.%s/%s", strings.ToLower(s.Kind.Kind), version.Version, version.Group, s.Name)
	}
	return fmt.Errorf("%s: its manifest uses %s, but the object was read in %s, and field names can differ between them; %s",
		s, strings.Join(r.Versions, " and "), s.Kind.GroupVersion(), remedy)
}

// named returns the paths that a FIELD argument matches, or an error if one of them cannot be released.
func named(e explain.Explanation, live *jsontree.Node, field string) ([]fieldpath.Path, error) {
	if pattern, err := explain.ParseField(field); err == nil {
		if path, plain := pattern.Path(); plain {
			if err := refuseIdentity(e.Subject, path); err != nil {
				return nil, err
			}
		}
	}
	_, paths, err := e.Find(field)
	for _, path := range paths {
		list := slices.IndexFunc(path, func(element fieldpath.PathElement) bool { return element.Index != nil })
		switch err := refuseIdentity(e.Subject, path); {
		case err != nil:
			return nil, err
		case live.Find(path) == nil:
			return nil, fmt.Errorf("%s: %s no longer exists, so there is nothing to keep; remove it from the manifest",
				e.Subject, explain.Text(path))
		case list >= 0: // a manifest can have another element there
			return nil, fmt.Errorf("%s: %s is in a list without keys; release all of %s instead",
				e.Subject, explain.Text(path), explain.Text(path[:list]))
		}
	}
	return paths, err
}

// refuseIdentity returns an error for fields that identify the object, and for status.
func refuseIdentity(s source.Subject, path fieldpath.Path) error {
	text := explain.Text(path)
	switch {
	case apitypes.InStatus(path):
		return fmt.Errorf("%s: %s is in status, which an apply does not set; nothing to release", s, text)
	case apitypes.IsIdentity(path) || fieldpattern.HasPrefix(path, ownership.LastAppliedPath()):
		return fmt.Errorf("%s: %s identifies the object or records its state; it cannot be released", s, text)
	case containsIdentity(path):
		return fmt.Errorf("%s: %s contains fields that identify the object or record what was applied; name nested fields, such as %s",
			s, text, map[int]string{1: ".metadata.labels", 2: ".metadata.annotations.*"}[len(path)])
	}
	return nil
}

func containsIdentity(path fieldpath.Path) bool {
	return fieldpattern.HasPrefix(ownership.LastAppliedPath(), path)
}

// unsafe returns an error for each field that the next kubectl apply, of the last-applied manifest without the fields, would
// change. Server-side apply needs no such check: it removes only fields that its own entry alone contains.
func (p Plan) unsafe() (refusals []error) {
	remedies := map[string]string{} // by parent
	for i, err := range p.survive(p.annotation.without, p.Paths...) {
		if err == nil {
			continue
		}
		path := p.Paths[i]
		parent := path[:len(path)-1].String()
		if remedies[parent] == "" {
			remedies[parent] = p.widerRemedy(path)
		}
		refusals = append(refusals, fmt.Errorf("%s: %s %w; %s", p.Subject, explain.Text(path), err, remedies[parent]))
	}
	return refusals
}

// survive simulates an apply of a manifest that has been applied before, and returns for each path why it would change, or nil. An empty
// text changes nothing.
func (p Plan) survive(text string, paths ...fieldpath.Path) []error {
	errs := make([]error, len(paths))
	if text == "" {
		return errs
	}
	live := p.Subject.Object.Text()
	result, err := p.Subject.ThreeWay([]byte(text), []byte(text), live)
	before, after := jsontree.Valid(live), jsontree.Valid(result)
	for i, path := range paths {
		switch {
		case err != nil:
			errs[i] = fmt.Errorf("cannot be released, because a manifest without it cannot be applied: %w", err)
		case !apitypes.SameValue(before.Find(path).Text(), after.Find(path).Text()):
			errs[i] = errors.New("is part of a value that kubectl apply treats as atomic: a manifest without it would still change it")
		}
	}
	return errs
}

// widerRemedy returns the advice to release the nearest ancestor of a path that can be released.
func (p Plan) widerRemedy(path fieldpath.Path) string {
	for n := len(path) - 1; n > 0 && refuseIdentity(p.Subject, path[:n]) == nil; n-- {
		if p.survive(p.without(p.annotation.with, path[:n]).without, path[:n])[0] == nil {
			return "release all of " + explain.Text(path[:n]) + " instead"
		}
	}
	return "keep it in the manifest"
}
