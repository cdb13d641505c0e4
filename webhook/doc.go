// Package webhook answers AdmissionReviews.
//
// It decodes a review (review.go), reads the mode that applies (mode.go), decides which fields are kept (evaluate.go, with
// package merge), and encodes the response (answer.go). The write is always allowed: the handler never denies one. If an error
// occurs, the response has no patch, and a warning with the reason (handler.go).
package webhook
