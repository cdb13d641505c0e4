package ownership

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// unit is a field that row 3 of docs/decisions.md keeps: a value, or an object that is kept whole or not at all.
type unit struct {
	pattern string
	// kinds are the kinds that have it, as "Kind.group"; empty for all.
	kinds []string
	// inMap reports whether it is a key of a map of strings, which comes back if the manifest drops the whole map.
	inMap bool

	parsed Pattern
}

// podTemplates are the places of pod templates in built-in kinds and in custom resources such as Rollouts.
var podTemplates = []string{".spec.template", ".spec.jobTemplate.spec.template"}

// units are the units of row 3, and unitTree their patterns. The manifest wins in every other field (row 5).
var units, unitTree = allUnits()

func allUnits() (all []unit, tree *patternTree) {
	all = []unit{
		{pattern: ".metadata.labels.*", inMap: true},
		{pattern: ".metadata.annotations.*", inMap: true},
		{pattern: ".data.*", kinds: []string{"ConfigMap.", "Secret."}, inMap: true},
		{pattern: ".spec.paused"},
		{pattern: ".spec.suspend"},
	}
	for _, template := range podTemplates {
		all = append(all,
			unit{pattern: template + ".metadata.labels.*", inMap: true},
			unit{pattern: template + ".metadata.annotations.*", inMap: true},
			unit{pattern: template + ".spec.containers[*].resources"},
			unit{pattern: template + ".spec.initContainers[*].resources"},
			unit{pattern: template + ".spec." + serviceAccountName},
			unit{pattern: template + ".spec." + serviceAccount},
		)
	}
	tree = &patternTree{}
	for i := range all {
		all[i].parsed = mustParse(all[i].pattern)[0]
		tree.add(nil, all[i].parsed)
	}
	return all, tree
}

// mustParse parses patterns that are constants.
func mustParse(texts ...string) (patterns []Pattern) {
	for _, text := range texts {
		pattern, err := ParsePattern(text)
		if err != nil {
			panic(err)
		}
		patterns = append(patterns, pattern)
	}
	return patterns
}

// The two names of one field, which are one unit (k8s.io/api/core/v1, PodSpec).
const (
	serviceAccountName = "serviceAccountName"
	serviceAccount     = "serviceAccount"
)

// ownPrefix is the prefix of handoff's own label and annotations, which are never kept.
const ownPrefix = "ownership-handoff.io/"

// UnitOf returns the path of the unit that a field of an object is or belongs to; ok is false for any other field, which the
// manifest deletes when it drops it (row 5). inMap reports whether the unit is a key of a map of strings.
func UnitOf(kind schema.GroupKind, path fieldpath.Path) (unit fieldpath.Path, inMap, ok bool) {
	for i := range units {
		u := &units[i]
		if u.isOf(kind) && u.parsed.Matches(path) {
			found := path[:len(u.parsed)]
			return found, u.inMap, !isOwn(found)
		}
	}
	return nil, false, false
}

func (u *unit) isOf(kind schema.GroupKind) bool {
	return len(u.kinds) == 0 || slices.Contains(u.kinds, kind.Kind+"."+kind.Group)
}

// isOwn reports whether a path is that of a label or annotation by which handoff is configured, or of last-applied.
func isOwn(path fieldpath.Path) bool {
	name := path[len(path)-1].FieldName
	return name != nil && len(path) > 1 && (strings.HasPrefix(*name, ownPrefix) || *name == LastAppliedAnnotation)
}

// StringData returns the path in stringData by which the manifest of a Secret can set the field at path in data
// (k8s.io/api/core/v1, Secret). It returns nil for other kinds and paths.
func StringData(kind schema.GroupKind, path fieldpath.Path) fieldpath.Path {
	if kind != (schema.GroupKind{Kind: "Secret"}) || len(path) != 2 || !isNamed(path[0], "data") {
		return nil
	}
	return fieldpath.Path{fieldpath.FieldNameElement("stringData"), path[1]}
}

// aliasOf returns the other path by which a manifest can set the field at path: stringData for a Secret's data, and the other
// name of the service account. It returns nil for any other field.
func aliasOf(kind schema.GroupKind, path fieldpath.Path) fieldpath.Path {
	parent, last := path[:len(path)-1:len(path)-1], path[len(path)-1]
	switch {
	case isNamed(last, serviceAccountName):
		return append(parent, fieldpath.FieldNameElement(serviceAccount))
	case isNamed(last, serviceAccount):
		return append(parent, fieldpath.FieldNameElement(serviceAccountName))
	default:
		return StringData(kind, path)
	}
}
