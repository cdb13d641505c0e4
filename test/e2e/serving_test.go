package e2e_test

import (
	"net/http"
	"strings"
)

const aReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"UPDATE",
"kind":{"group":"apps","version":"v1","kind":"Deployment"},"namespace":"x","name":"web",
"object":{"spec":{"replicas":1}},"oldObject":{"spec":{"replicas":3}}}}`

// said waits until the readiness endpoint reports that the server is not ready, with all of these texts.
func (s *server) said(wants ...string) {
	s.Helper()
	s.answers(http.StatusServiceUnavailable, wants...)
}

// answers waits until the readiness endpoint returns a status and all of these texts, with and without the query parameter verbose.
func (s *server) answers(status int, wants ...string) {
	s.Helper()
	for _, path := range []string{"/readyz?verbose", "/readyz"} {
		s.eventually("readiness contains "+strings.Join(wants, ", "), func() bool {
			got, answer := s.get(path)
			for _, want := range wants {
				if got != status || !strings.Contains(answer, want) {
					return false
				}
			}
			return true
		})
	}
}
