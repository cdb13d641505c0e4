package release

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/manifest"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// named returns the paths that a FIELD argument matches, or an error if one of them cannot be released.
func named(e explain.Explanation, live *jsontree.Node, field string) ([]fieldpath.Path, error) {
	if pattern, err := explain.ParseField(field); err == nil {
		if path, plain := pattern.Path(); plain {
			if err := refuseIdentity(e.Subject, path); err != nil {
				return nil, err
			}
		}
	}
	paths, err := e.Named(field)
	if err != nil {
		if whole, ok := e.Within(field); ok {
			return nil, fmt.Errorf("%s: %s is part of %s, which is atomic; release all of it instead", e.Subject, field,
				explain.Text(whole.Path))
		}
		return nil, err
	}
	for _, path := range paths {
		if err := errors.Join(refuseIdentity(e.Subject, path), refuse(e.Subject, live, path)); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// refuseIdentity returns an error for fields that identify the object, and for status.
func refuseIdentity(s source.Subject, path fieldpath.Path) error {
	text := explain.Text(path)
	switch first := path[0].FieldName; {
	case first == nil:
		return fmt.Errorf("%s: %s is not a field; write its name, such as .spec.replicas", s, text)
	case *first == "status":
		return fmt.Errorf("%s: %s is in status, which an apply does not set; nothing to release", s, text)
	case isIdentity(path):
		return fmt.Errorf("%s: %s identifies the object or records its state; it cannot be released", s, text)
	case containsIdentity(path):
		nested := map[int]string{1: ".metadata.labels", 2: ".metadata.annotations.*"}[len(path)]
		return fmt.Errorf("%s: %s contains fields that identify the object or record what was applied; name nested fields, such as %s",
			s, text, nested)
	}
	return nil
}

func isIdentity(path fieldpath.Path) bool {
	identifies := func(identity fieldpath.Path) bool { return ownership.HasPrefix(path, identity) }
	return identifies(ownership.LastAppliedPath()) || slices.ContainsFunc(ownership.IdentityPaths(), identifies)
}

func containsIdentity(path fieldpath.Path) bool {
	return ownership.HasPrefix(ownership.LastAppliedPath(), path)
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
