// Package twoway merges a manifest into a live object as kustomize merges a strategic merge patch into a resource.
//
// Its result is that of merge2 in sigs.k8s.io/kustomize/kyaml, compared value by value: JSON has neither comments nor styles.
// docs/merge-differences-twoway.md lists where it is not kyaml's, each case with its reason.
//
// The inputs are named as in package threeway: the manifest is kustomize's patch (kyaml's src), and live the resource that it
// changes (kyaml's dest). Package schema describes how each list merges; Kustomize is the schema that kustomize uses.
package twoway
