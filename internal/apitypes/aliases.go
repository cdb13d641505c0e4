package apitypes

import (
	"encoding/base64"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// SecretKind is the kind of Secrets, and ConfigMapKind that of ConfigMaps.
var (
	SecretKind    = schema.GroupKind{Kind: "Secret"}
	ConfigMapKind = schema.GroupKind{Kind: "ConfigMap"}
)

// StringData returns the path in stringData by which the manifest of a Secret can set the field at path in data
// (k8s.io/api/core/v1, Secret). It returns nil for other kinds and paths.
func StringData(kind schema.GroupKind, path fieldpath.Path) fieldpath.Path {
	if kind != SecretKind || len(path) != 2 || !fieldpattern.IsNamed(path[0], "data") {
		return nil
	}
	return fieldpath.Path{fieldpath.FieldNameElement("stringData"), path[1]}
}

// Encoded returns the value of a Secret's data for that of its stringData (k8s.io/api/core/v1, Secret).
func Encoded(stringData *jsontree.Node) *jsontree.Node {
	plain, ok := stringData.Bytes()
	if !ok {
		return nil
	}
	return jsontree.Valid(append(base64.StdEncoding.AppendEncode([]byte{'"'}, plain), '"'))
}

// otherName are the two names of one field (k8s.io/api/core/v1, PodSpec).
var otherName = map[string]string{"serviceAccountName": "serviceAccount", "serviceAccount": "serviceAccountName"}

// AliasOf returns the other path by which a manifest can set the field at path: stringData for a Secret's data, and the other
// name of the service account in a pod template. It returns nil for any other field.
func AliasOf(kind schema.GroupKind, path fieldpath.Path) fieldpath.Path {
	depth := len(path) - 1
	parent, name := path[:depth:depth], path[depth].FieldName
	isInTemplate := depth > 1 && fieldpattern.IsNamed(path[depth-2], "template") && fieldpattern.IsNamed(path[depth-1], "spec")
	if name == nil || otherName[*name] == "" || !isInTemplate {
		return StringData(kind, path)
	}
	return append(parent, fieldpath.FieldNameElement(otherName[*name]))
}

// allocated are fields that the API server restores if a write removes them (k8s.io/kubernetes/pkg/registry/core/service and apps/daemonset).
var allocated = map[schema.GroupKind][]fieldpattern.Pattern{
	{Kind: "Service"}: fieldpattern.MustParse(
		".spec.clusterIP", ".spec.clusterIPs", ".spec.healthCheckNodePort", ".spec.ipFamilies", ".spec.ipFamilyPolicy", ".spec.ports[*].nodePort"),
	{Group: "apps", Kind: "DaemonSet"}: fieldpattern.MustParse(`.metadata.annotations["deprecated.daemonset.template.generation"]`),
}

// IsAllocated reports whether the API server restores a field that a write removes.
func IsAllocated(kind schema.GroupKind, path fieldpath.Path) bool {
	return slices.ContainsFunc(allocated[kind], func(p fieldpattern.Pattern) bool { return p.Matches(path) })
}
