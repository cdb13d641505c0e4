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
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// kappAnnotation contains the manifest that kapp applied last.
const kappAnnotation = "kapp.k14s.io/original"

// reachable returns an error if an object's manifest is not recorded where a plan can edit it.
func reachable(s source.Subject) error {
	entries, err := s.Object.Entries()
	if err != nil {
		return fmt.Errorf("%s: %w; apply the object again to rewrite it", s, err)
	}
	if len(entries) == 0 {
		return fmt.Errorf("%s: no managedFields, so the manifests that declare its fields are unknown; "+
			"apply the manifest once to record them, then release", s)
	}
	var updates, applies []ownership.Entry // of appliers
	for _, e := range entries {
		switch {
		case e.Subresource != "" || !s.Context.Managers.IsApplier(e):
		case e.Operation == managedfields.OperationApply:
			applies = append(applies, e)
		default:
			updates = append(updates, e)
		}
	}
	annotated := func(name string) bool {
		return s.Object.Value(fieldpath.MakePathOrDie("metadata", "annotations", name)) != nil
	}
	isHelm := func(e ownership.Entry) bool { // or a program with its library
		return e.Manager == "helm" || e.Manager == "helm-controller" || e.Contains(ownership.HelmReleasePath())
	}
	elsewhere := func(tool, where, remedy string) error {
		return fmt.Errorf("%s: %s records its manifest %s, which this command cannot edit; %s", s, tool, where, remedy)
	}
	_, recorded := s.Object.LastApplied()
	switch {
	case annotated(kappAnnotation):
		return elsewhere("kapp", "in its annotation "+kappAnnotation, "add a rebaseRule for the field to kapp's configuration")
	// Helm 3 sends updates; Helm 4 uses server-side apply and is not affected.
	case (annotated(ownership.HelmReleaseAnnotation) || slices.ContainsFunc(updates, isHelm)) && !slices.ContainsFunc(applies, isHelm):
		return elsewhere("Helm", "in the Secret of the release",
			"give the chart a condition that renders the live value, or enable handoff in the namespace")
	case !recorded && len(updates)+len(applies) == 0:
		return fmt.Errorf("%s: no manifest is recorded, neither in a last-applied annotation nor by server-side apply, "+
			"so no apply would delete its fields; nothing to release", s)
	case !recorded && len(updates) > 0 && updates[0].Manager == "kubectl-client-side-apply":
		return fmt.Errorf("%s: the last-applied annotation was removed, so the fields that its manifest declares are unknown; "+
			"restore it with kubectl apply set-last-applied --create-annotation -f FILE", s)
	case !recorded && len(updates) > 0:
		return elsewhere(updates[0].Manager, "elsewhere", "see its documentation on ignoring fields")
	}
	return otherVersion(s, applies)
}

// otherVersion returns an error if the records use another API version than the object was read in, because field names can
// differ between versions. If they use several versions, no version fits all of them.
func otherVersion(s source.Subject, applies []ownership.Entry) error {
	read := s.Kind.GroupVersion().String()
	var declared []string
	applied, err := s.Object.LastAppliedManifest()
	if err != nil {
		return fmt.Errorf("%s: %w; apply the object again to rewrite it", s, ownership.ErrLastApplied)
	}
	if applied != nil {
		version, _ := applied.At("apiVersion").String()
		declared = append(declared, version)
	}
	for _, e := range applies {
		declared = append(declared, e.APIVersion)
	}
	slices.Sort(declared)
	declared = slices.Compact(declared)
	switch {
	case len(declared) > 1:
		return fmt.Errorf("%s: its manifests use several API versions, %s, between which field names can differ; "+
			"change all of them to one version, and apply each once", s, strings.Join(declared, " and "))
	case declared[0] == read:
		return nil
	}
	version, err := schema.ParseGroupVersion(declared[0])
	remedy := "change the manifest to that version, and apply it once"
	if err == nil && version.Group == s.Kind.Group {
		remedy = fmt.Sprintf("name the object as %s.%s.%s/%s", strings.ToLower(s.Kind.Kind), version.Version, version.Group, s.Name)
	}
	return fmt.Errorf("%s: its manifest uses %s, but the object was read in %s, and field names can differ between them; %s",
		s, declared[0], read, remedy)
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
