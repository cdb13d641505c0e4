// Package release plans how to stop managing fields through the manifest that an object was applied from, so that the next
// apply of the manifest without them does not change them. It follows the documented procedures for changing the ownership of
// a field to an imperative writer (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/), and for
// transferring it between managers
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership).
//
// Two records say that a manifest declares a field: the last-applied annotation, and the managedFields entries of managers
// that apply manifests. A Plan removes the field from both and writes nothing else. It depends on the object alone, not on a
// client. If any field would not survive the next apply, there is no plan.
package release
