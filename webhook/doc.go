// Package webhook takes one AdmissionReview in and gives one out.
//
// A review goes one way: decode (review.go), opt-in (mode.go), who owns the fields and what becomes of them (evaluate.go, by
// package decision), the answer (answer.go). Whatever happens on
// that way, the write is allowed: the handler never denies, and an error anywhere means an answer without a patch, with a
// warning that says why (handler.go).
package webhook
