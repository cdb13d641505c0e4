package release

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsonindex"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// named returns the paths that a FIELD argument names, unless one of them cannot be released.
func named(e explain.Explanation, live *jsonindex.Index, field string) ([]fieldpath.Path, error) {
	if pattern, err := explain.ParseField(field); err == nil {
		if path, plain := explain.PathOf(pattern); plain {
			if err := refuseIdentity(e, path); err != nil {
				return nil, err
			}
		}
	}
	paths, err := e.Named(field)
	if err != nil {
		if whole, ok := e.Within(field); ok {
			return nil, fmt.Errorf("%s: %s is part of %s, which is taken as a whole; release that instead", e, field,
				explain.Text(whole.Path))
		}
		return nil, err
	}
	for _, path := range paths {
		if err := errors.Join(refuseIdentity(e, path), refuse(e, live, path)); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// refuseIdentity refuses what makes the object the one it is.
func refuseIdentity(e explain.Explanation, path fieldpath.Path) error {
	text := explain.Text(path)
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
	if hasPrefix(path, ownership.LastAppliedPath()) {
		return true
	}
	names := []string{
		"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "selfLink",
	}
	return path[1].FieldName != nil && slices.Contains(names, *path[1].FieldName)
}

func holdsIdentity(path fieldpath.Path) bool { return hasPrefix(ownership.LastAppliedPath(), path) }

// refuse refuses what there is nothing of to release, or what its manifest cannot go without.
func refuse(e explain.Explanation, live *jsonindex.Index, path fieldpath.Path) error {
	text := explain.Text(path)
	if live.Value(path) == nil {
		return fmt.Errorf("%s: %s is not there any more, so that there is nothing to keep; delete it from the manifest", e, text)
	}
	for i, element := range path {
		switch {
		case element.Index != nil:
			return fmt.Errorf("%s: %s is in a list whose elements have no key; release %s as a whole instead", e, text,
				explain.Text(path[:i]))
		case element.Key == nil || i+2 != len(path) || path[i+1].FieldName == nil:
			continue
		}
		for _, key := range *element.Key {
			if key.Name == *path[i+1].FieldName {
				return fmt.Errorf("%s: %s is the key of its list element, which could not be found without it; "+
					"release %s as a whole instead", e, text, explain.Text(path[:i+1]))
			}
		}
	}
	return nil
}
