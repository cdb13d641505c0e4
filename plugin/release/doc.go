// Package release plans how fields are taken away from the manifest that an object was applied from, so that the next apply,
// of the manifest without them, leaves them as they are. It is the documented procedure for giving a field to a direct
// writer (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/), and for transferring it between
// managers (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership).
//
// That a manifest declares a field is recorded in two places: the last-applied annotation, and the claims in managedFields
// of those who speak for manifests. A Plan takes it out of both and writes nothing else. It is made of the object alone and
// knows no client. What the next apply would not leave as it is, is refused.
package release
