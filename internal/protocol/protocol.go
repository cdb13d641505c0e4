// Package protocol contains what the webhook says and kubectl handoff recognizes.
package protocol

// The beginnings of the webhook's warnings.
const (
	WarningPrefix = "handoff: "
	// Answered is followed by the version, ", configuration " with its hash, and ", mode " with that of the namespace: the answer to a
	// dry run of an object whose mode label is ProbeMode.
	Answered = "doctor: answered by handoff-webhook "
	// Skipped is followed by the reason why the write was not modified, or only in part.
	Skipped = "skipped, "
	// Stale is followed by the age of the state.
	Stale = "cluster state is "
)

// ProbeMode is the mode label with which kubectl handoff doctor checks, in a dry run, that the API server reaches the webhook. In
// a write that is stored, it is an unknown value like any other.
const ProbeMode = "doctor"

// SelfSigned is the default of the webhook's flag --self-signed-secret.
const SelfSigned = "handoff-webhook-tls"

// MethodNotAllowed is the webhook's response to a request other than a POST.
const MethodNotAllowed = "handoff: POST an AdmissionReview of admission.k8s.io/v1"
