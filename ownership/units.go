package ownership

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
)

// units are the fields that row 3 of docs/decisions.md keeps: a value, or an object that is kept whole or not at all. One that is a key of
// a map of strings, which comes back if the manifest drops the whole map, ends with a wildcard. Pod templates are at these places in
// built-in kinds and in custom resources such as Rollouts. The manifest wins in every other field (row 5).
var units = fieldpattern.MustParse(
	".metadata.labels.*",
	".metadata.annotations.*",
	".data.*", // of a ConfigMap or a Secret
	".spec.paused",
	".spec.suspend",
	".spec.template.metadata.labels.*",
	".spec.template.metadata.annotations.*",
	".spec.template.spec.containers[*].resources",
	".spec.template.spec.initContainers[*].resources",
	".spec.template.spec.serviceAccountName",
	".spec.template.spec.serviceAccount",
	".spec.jobTemplate.spec.template.metadata.labels.*",
	".spec.jobTemplate.spec.template.metadata.annotations.*",
	".spec.jobTemplate.spec.template.spec.containers[*].resources",
	".spec.jobTemplate.spec.template.spec.initContainers[*].resources",
	".spec.jobTemplate.spec.template.spec.serviceAccountName",
	".spec.jobTemplate.spec.template.spec.serviceAccount",
)

var unitTree = newUnitTree()

func newUnitTree() *ruleTree {
	t := &ruleTree{}
	t.Add(nil, units...)
	return t
}

// otherName are the two names of one field, which are one unit (k8s.io/api/core/v1, PodSpec).
var otherName = map[string]string{"serviceAccountName": "serviceAccount", "serviceAccount": "serviceAccountName"}

// ownPrefix is the prefix of handoff's own label and annotations, which are never kept.
const ownPrefix = "ownership-handoff.io/"

// UnitOf returns the path of the unit that a field of an object is or belongs to; ok is false for any other field, which the
// manifest deletes when it drops it (row 5). inMap reports whether the unit is a key of a map of strings.
func UnitOf(kind schema.GroupKind, path fieldpath.Path) (unit fieldpath.Path, inMap, ok bool) {
	i := slices.IndexFunc(units, func(p Pattern) bool { return p.Matches(path) })
	if i < 0 || fieldpattern.IsNamed(path[0], "data") && kind != secretKind && kind != (schema.GroupKind{Kind: "ConfigMap"}) {
		return nil, false, false
	}
	last := len(units[i]) - 1
	unit = path[:last+1]
	return unit, units[i][last].Wildcard, !isOwn(unit)
}

var secretKind = schema.GroupKind{Kind: "Secret"}

// isOwn reports whether a path is that of a label or annotation by which handoff is configured, or of last-applied.
func isOwn(path fieldpath.Path) bool {
	name := path[len(path)-1].FieldName
	return name != nil && len(path) > 1 && (strings.HasPrefix(*name, ownPrefix) || *name == LastAppliedAnnotation)
}

// StringData returns the path in stringData by which the manifest of a Secret can set the field at path in data
// (k8s.io/api/core/v1, Secret). It returns nil for other kinds and paths.
func StringData(kind schema.GroupKind, path fieldpath.Path) fieldpath.Path {
	if kind != secretKind || len(path) != 2 || !fieldpattern.IsNamed(path[0], "data") {
		return nil
	}
	return fieldpath.Path{fieldpath.FieldNameElement("stringData"), path[1]}
}

// aliasOf returns the other path by which a manifest can set the field at path: stringData for a Secret's data, and the other
// name of the service account. It returns nil for any other field.
func aliasOf(kind schema.GroupKind, path fieldpath.Path) fieldpath.Path {
	parent, last := path[:len(path)-1:len(path)-1], path[len(path)-1].FieldName
	if last == nil || otherName[*last] == "" {
		return StringData(kind, path)
	}
	return append(parent, fieldpath.FieldNameElement(otherName[*last]))
}
