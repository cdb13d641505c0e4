// Package threeway merges a manifest into a live object as kubectl apply does.
//
// Its result is that of strategicpatch.CreateThreeWayMergePatch with overwrite and StrategicMergePatch, for the schema
// JSONMergePatch that of jsonmergepatch.CreateThreeWayJSONMergePatch and MergePatch (k8s.io/apimachinery). There is no
// patch in between: the objects are merged directly. docs/merge-differences.md lists where the result is not upstream's,
// each case with its reason.
//
// The inputs are named as in the documentation of kubectl apply: the manifest is being applied, the base was applied
// before (the last-applied configuration), and live is the object as stored. Package schema describes how each field merges.
package threeway
