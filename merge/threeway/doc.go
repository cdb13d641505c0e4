// Package threeway merges a manifest into a live object as kubectl apply does.
//
// Merge has three inputs: the manifest is the configuration being applied, the base is the last-applied
// configuration, and live is the stored object. Package schema describes how each field merges.
//
// The result is that of strategicpatch.CreateThreeWayMergePatch (with overwrite) and StrategicMergePatch or, for the schema
// JSONMergePatch, that of jsonmergepatch.CreateThreeWayJSONMergePatch and MergePatch (k8s.io/apimachinery). The objects are
// merged directly, without a patch. docs/merge-differences.md lists the differences from upstream, with the reasons.
package threeway
