// Package strip removes fields that autoscalers and controllers own in the live objects from manifests, so that an apply
// neither resets them nor, server-side, conflicts with their managers.
//
// A field is removed only if the next apply would not delete it from the live object. kubectl apply deletes a field that the
// last-applied annotation declares, Helm 3 one that the manifest of the last release declares, and server-side apply one that no
// other manager manages (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management). In these cases the
// manifest gets the live value instead, which no apply changes.
package strip
