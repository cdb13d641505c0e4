package release

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// reachable returns an error if an object's manifest is not recorded where a plan can edit it, or in another API version than the
// object was read in: field names can differ between versions.
func reachable(e explain.Explanation) error {
	s, r := e.Subject, e.Record
	switch {
	case r.Elsewhere != "":
		return fmt.Errorf("%s: %s; %s", s, r.Elsewhere, r.Remedy)
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
		if err := errors.Join(refuseIdentity(e.Subject, path), refuse(e.Subject, live, path)); err != nil {
			return nil, err
		}
	}
	return paths, err
}

// refuseIdentity returns an error for fields that identify the object, and for status.
func refuseIdentity(s source.Subject, path fieldpath.Path) error {
	text := explain.Text(path)
	identifies := func(identity fieldpath.Path) bool { return fieldpattern.HasPrefix(path, identity) }
	switch first := path[0].FieldName; {
	case first == nil:
		return fmt.Errorf("%s: %s is not a field; write its name, such as .spec.replicas", s, text)
	case *first == "status":
		return fmt.Errorf("%s: %s is in status, which an apply does not set; nothing to release", s, text)
	case identifies(ownership.LastAppliedPath()) || slices.ContainsFunc(apitypes.IdentityPaths(), identifies):
		return fmt.Errorf("%s: %s identifies the object or records its state; it cannot be released", s, text)
	case containsIdentity(path):
		nested := map[int]string{1: ".metadata.labels", 2: ".metadata.annotations.*"}[len(path)]
		return fmt.Errorf("%s: %s contains fields that identify the object or record what was applied; name nested fields, such as %s",
			s, text, nested)
	}
	return nil
}

func containsIdentity(path fieldpath.Path) bool {
	return fieldpattern.HasPrefix(ownership.LastAppliedPath(), path)
}

// refuse returns an error for a field that does not exist, and for a part of a list that cannot be released by itself.
func refuse(s source.Subject, live *jsontree.Node, path fieldpath.Path) error {
	text := explain.Text(path)
	if live.Find(path) == nil {
		return fmt.Errorf("%s: %s no longer exists, so there is nothing to keep; remove it from the manifest", s, text)
	}
	if i := slices.IndexFunc(path, func(e fieldpath.PathElement) bool { return e.Index != nil }); i >= 0 {
		return fmt.Errorf("%s: %s is in a list without keys; release all of %s instead", s, text, explain.Text(path[:i]))
	}
	if manifest.IsKey(path) {
		return fmt.Errorf("%s: %s is a key of its list element, which cannot be identified without it; "+
			"release all of %s instead", s, text, explain.Text(path[:len(path)-1]))
	}
	return nil
}

// unsafe returns an error for each field that the next kubectl apply, of the last-applied manifest without the fields, would
// change. Server-side apply needs no such check: it removes only fields that its own entry alone contains.
func (p Plan) unsafe() (refusals []error) {
	if p.was == "" {
		return nil
	}
	remedies := map[string]string{} // by parent
	for i, err := range p.survive(p.text, p.Paths) {
		path := p.Paths[i]
		if err == nil {
			continue
		}
		parent := path[:len(path)-1].String()
		if remedies[parent] == "" {
			remedies[parent] = p.widerRemedy(path)
		}
		refusals = append(refusals, fmt.Errorf("%s: %s %w; %s", p.Subject, explain.Text(path), err, remedies[parent]))
	}
	return refusals
}

// survive simulates an apply of a manifest that has been applied before, and returns for each path why it would change, or nil.
func (p Plan) survive(text string, paths []fieldpath.Path) []error {
	errs := make([]error, len(paths))
	result, err := p.Subject.ThreeWay([]byte(text), []byte(text), p.Subject.Object.Text())
	live, applied := jsontree.Valid(p.Subject.Object.Text()), jsontree.Valid(result)
	for i, path := range paths {
		was, noLive := value.FromJSON(live.Find(path).Text())
		is, gone := value.FromJSON(applied.Find(path).Text())
		switch {
		case err != nil:
			errs[i] = fmt.Errorf("cannot be released, because a manifest without it cannot be applied: %w", err)
		case noLive != nil || gone != nil || !value.Equals(was, is):
			errs[i] = errors.New("is part of a value that kubectl apply treats as atomic: a manifest without it would still change it")
		}
	}
	return errs
}

// widerRemedy returns the advice to release the nearest ancestor of a path that can be released.
func (p Plan) widerRemedy(path fieldpath.Path) string {
	for n := len(path) - 1; n > 0 && refuseIdentity(p.Subject, path[:n]) == nil; n-- {
		text, _ := p.without(path[:n])
		if p.survive(text, []fieldpath.Path{path[:n]})[0] == nil {
			return "release all of " + explain.Text(path[:n]) + " instead"
		}
	}
	return "keep it in the manifest"
}
