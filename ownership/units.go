package ownership

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/scale"
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

var unitTree = new(ruleTree).Add(nil, units...)

// UnitOf returns the path of the unit that a field of an object of a kind is or belongs to; ok is false for any other field, which the
// manifest deletes when it drops it (row 5). inMap reports whether the unit is a key of a map of strings.
func (o Object) UnitOf(kind schema.GroupKind, path fieldpath.Path) (unit fieldpath.Path, inMap, ok bool) {
	i := slices.IndexFunc(units, func(p Pattern) bool { return p.Matches(path) })
	if i < 0 || fieldpattern.IsNamed(path[0], "data") && kind != apitypes.SecretKind && kind != apitypes.ConfigMapKind {
		return nil, false, false
	}
	last := len(units[i]) - 1
	unit = path[:last+1]
	return unit, units[i][last].Wildcard, !isOwn(unit) && !apitypes.IsAllocated(kind, unit) && !scale.IsNodeGroupSize(unit[last].FieldName) && o.isInPodTemplate(unit)
}

// isInPodTemplate reports whether a unit that is nested under a template is one of a pod template: other kinds have templates, too.
func (o Object) isInPodTemplate(unit fieldpath.Path) bool {
	at := slices.IndexFunc(unit[:len(unit)-1], func(e fieldpath.PathElement) bool { return fieldpattern.IsNamed(e, "template") })
	if at < 0 {
		return true
	}
	containers := slices.Concat(unit[:at+1], fieldpath.MakePathOrDie("spec", "containers"))
	return len(o.Value(containers)) > 0
}
