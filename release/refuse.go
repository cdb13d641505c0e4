package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/explanation"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/source"
)

// The annotations of tools that record manifests elsewhere.
const (
	helmAnnotation = "meta.helm.sh/release-name"
	kappAnnotation = "kapp.k14s.io/original"
)

// Reachable refuses an object whose manifest is not recorded where a plan could take something out of it.
func Reachable(s source.Subject) error {
	entries, err := s.Object.Entries()
	if err != nil {
		return fmt.Errorf("%s: %w; apply the object again, which writes it anew", s, err)
	}
	if len(entries) == 0 {
		return fmt.Errorf("%s: its managedFields were taken away, so that nothing tells which manifests declare its fields; "+
			"apply the manifest once, which records them anew, and release then", s)
	}
	annotated := func(name string) bool {
		return s.Object.Value(fieldpath.MakePathOrDie("metadata", "annotations", name)) != nil
	}
	applied := func(e ownership.Entry) bool { return e.Subresource == "" && s.Context.Managers.IsApplier(e) }
	serverSide := func(e ownership.Entry) bool { return applied(e) && e.Operation == ownership.OperationApply }
	switch by := helm(entries); {
	case annotated(kappAnnotation):
		return elsewhere(s, "kapp", "in its annotation "+kappAnnotation, "add a rebaseRule for the field to kapp's configuration")
	case by == "" && annotated(helmAnnotation) && !slices.ContainsFunc(entries, isHelmApply):
		return elsewhere(s, "Helm", "in the Secret of the release", helmRemedy)
	case by != "":
		return elsewhere(s, by, "in the Secret of the release", helmRemedy)
	}
	_, recorded := s.Object.LastApplied()
	if !recorded {
		for _, e := range entries {
			switch {
			case !applied(e) || serverSide(e):
			case e.Manager == "kubectl-client-side-apply":
				return fmt.Errorf("%s: it has no last-applied annotation any more, so that what its manifest declares is not known; "+
					"write it with kubectl apply set-last-applied --create-annotation -f FILE", s)
			default:
				return elsewhere(s, e.Manager, "by itself", "see there how it ignores a field")
			}
		}
	}
	if !recorded && !slices.ContainsFunc(entries, serverSide) {
		return fmt.Errorf("%s: no manifest is recorded on it, neither by a last-applied annotation nor by server-side apply, "+
			"so that no apply would delete a field of it; there is nothing to release", s)
	}
	return otherVersion(s, entries, serverSide)
}

const helmRemedy = "give the chart a condition that renders the live value, or enable handoff in the namespace"

func elsewhere(s source.Subject, who, where, remedy string) error {
	return fmt.Errorf("%s: %s records its manifest %s, where this command cannot take a field out of it; %s", s, who, where, remedy)
}

// helm names a manager of Helm 3, which updates; empty where none does. Helm 4 applies server-side.
func helm(entries []ownership.Entry) string {
	for _, e := range entries {
		if e.Operation == ownership.OperationUpdate && (e.Manager == "helm" || e.Manager == "helm-controller") &&
			!slices.ContainsFunc(entries, isHelmApply) {
			return e.Manager
		}
	}
	return ""
}

func isHelmApply(e ownership.Entry) bool {
	return e.Operation == ownership.OperationApply && (e.Manager == "helm" || e.Manager == "helm-controller")
}

// otherVersion refuses records that are of another version than the object was read in: there, fields can have other names.
func otherVersion(s source.Subject, entries []ownership.Entry, serverSide func(ownership.Entry) bool) error {
	read := s.Kind.GroupVersion().String()
	declared := read
	if text, ok := s.Object.LastApplied(); ok {
		var manifest struct {
			APIVersion string `json:"apiVersion"`
		}
		if err := json.Unmarshal([]byte(text), &manifest); err != nil {
			return fmt.Errorf("%s: %w; apply the object again, which writes it anew", s, ownership.ErrLastApplied)
		}
		declared = manifest.APIVersion
	}
	for _, e := range entries {
		if serverSide(e) && e.APIVersion != read {
			declared = e.APIVersion
		}
	}
	if declared == read {
		return nil
	}
	version, err := schema.ParseGroupVersion(declared)
	remedy := "write it in that version, and apply it once"
	if err == nil && version.Group == s.Kind.Group {
		remedy = fmt.Sprintf("name the object as %s.%s.%s/%s", strings.ToLower(s.Kind.Kind), version.Version, version.Group, s.Name)
	}
	return fmt.Errorf("%s: its manifest is written in %s, and the object was read in %s, in which fields can have other names; %s",
		s, declared, read, remedy)
}

// named returns the paths that a FIELD argument names, unless one of them cannot be released.
func named(e explanation.Explanation, field string) ([]fieldpath.Path, error) {
	if pattern, err := explanation.ParseField(field); err == nil {
		if path, plain := plainPath(pattern); plain {
			if err := refuseIdentity(e, path); err != nil {
				return nil, err
			}
		}
	}
	paths, err := e.Named(field)
	if err != nil {
		if whole, ok := e.Within(field); ok {
			return nil, fmt.Errorf("%s: %s is part of %s, which is taken as a whole; release that instead", e, field,
				explanation.Text(whole.Path))
		}
		return nil, err
	}
	for _, path := range paths {
		if err := errors.Join(refuseIdentity(e, path), refuse(e, path)); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

func plainPath(pattern ownership.Pattern) (path fieldpath.Path, plain bool) {
	for _, matcher := range pattern {
		if matcher.Wildcard {
			return nil, false
		}
		path = append(path, matcher.PathElement)
	}
	return path, true
}

// refuseIdentity refuses what makes the object the one it is.
func refuseIdentity(e explanation.Explanation, path fieldpath.Path) error {
	text := explanation.Text(path)
	switch first := path[0].FieldName; {
	case first == nil:
		return fmt.Errorf("%s: %s is no field; write it with its name, such as .spec.replicas", e, text)
	case *first == "status":
		return fmt.Errorf("%s: %s is status, which no apply sets; there is nothing to release", e, text)
	case isIdentity(path):
		return fmt.Errorf("%s: %s makes the object the one it is, and belongs in its manifest; leave it there", e, text)
	case holdsIdentity(path):
		parts := map[int]string{1: ".metadata.labels", 2: ".metadata.annotations.*"}[len(path)]
		return fmt.Errorf("%s: %s holds what makes the object the one it is, or records what was applied; name its parts, such as %s",
			e, text, parts)
	}
	return nil
}

func isIdentity(path fieldpath.Path) bool {
	if first := *path[0].FieldName; first == "apiVersion" || first == "kind" {
		return true
	}
	if *path[0].FieldName != "metadata" || len(path) == 1 {
		return false
	}
	if hasPrefix(path, annotationPath()) {
		return true
	}
	names := []string{
		"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "selfLink",
	}
	return path[1].FieldName != nil && slices.Contains(names, *path[1].FieldName)
}

func holdsIdentity(path fieldpath.Path) bool { return hasPrefix(annotationPath(), path) }

// refuse refuses what there is nothing of to release, or what its manifest cannot go without.
func refuse(e explanation.Explanation, path fieldpath.Path) error {
	text := explanation.Text(path)
	if e.Object.Value(path) == nil {
		return fmt.Errorf("%s: %s is not there any more, so that there is nothing to keep; delete it from the manifest", e, text)
	}
	for i, element := range path {
		switch {
		case element.Index != nil:
			return fmt.Errorf("%s: %s is in a list whose elements have no key; release %s as a whole instead", e, text,
				explanation.Text(path[:i]))
		case element.Key == nil || i+2 != len(path) || path[i+1].FieldName == nil:
			continue
		}
		for _, key := range *element.Key {
			if key.Name == *path[i+1].FieldName {
				return fmt.Errorf("%s: %s is the key of its list element, which could not be found without it; "+
					"release %s as a whole instead", e, text, explanation.Text(path[:i+1]))
			}
		}
	}
	return nil
}
