package cli

import (
	"net/http"
	"regexp"
)

// secretWarnings takes warnings out of what the API server answers about Secrets: an admission webhook or policy can quote
// in one what the Secret holds. What is left is about names of fields.
type secretWarnings struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w secretWarnings) RoundTrip(request *http.Request) (*http.Response, error) {
	const warning = "Warning"
	response, err := w.RoundTripper.RoundTrip(request)
	if err != nil || !regexp.MustCompile(`^/api/v1/(namespaces/[^/]+/)?secrets(/|$)`).MatchString(request.URL.Path) {
		return response, err
	}
	said := response.Header.Values(warning)
	response.Header.Del(warning)
	for _, text := range said {
		if !regexp.MustCompile(`^299 - "(unknown|duplicate) field \\"[^"\\]*\\""$`).MatchString(text) {
			text = `299 - "a warning about the Secret is not shown, for it can quote what the Secret holds"`
		}
		response.Header.Add(warning, text)
	}
	return response, nil
}
