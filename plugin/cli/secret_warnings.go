package cli

import (
	"net/http"
	"regexp"
)

// secretWarnings hides warnings in responses about Secrets: an admission webhook or policy can quote the Secret's contents
// in one. It forwards only warnings about unknown or duplicate field names.
type secretWarnings struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w secretWarnings) RoundTrip(request *http.Request) (*http.Response, error) {
	const warning = "Warning"
	response, err := w.RoundTripper.RoundTrip(request)
	if err != nil || !regexp.MustCompile(`^/api/v1/(namespaces/[^/]+/)?secrets(/|$)`).MatchString(request.URL.Path) {
		return response, err
	}
	texts := response.Header.Values(warning)
	response.Header.Del(warning)
	for _, text := range texts {
		if !regexp.MustCompile(`^299 - "(unknown|duplicate) field \\"[^"\\]*\\""$`).MatchString(text) {
			text = `299 - "a warning about the Secret is hidden because it can quote the Secret's contents"`
		}
		response.Header.Add(warning, text)
	}
	return response, nil
}
