// Package twoway merges a manifest into a live object as kustomize merges a strategic merge patch into a resource.
//
// Merge has two inputs: the manifest is kustomize's patch (src in kyaml), and live is the resource that it
// changes (dest in kyaml). Package schema describes how each list merges. Kustomize returns the schema that kustomize uses, and
// Inferred is a schema for unknown kinds.
//
// The result has the same values as that of merge2 in sigs.k8s.io/kustomize/kyaml. YAML comments and styles, which JSON does
// not have, are not compared. docs/merge-differences-twoway.md lists the differences from kyaml, with the reasons.
package twoway
