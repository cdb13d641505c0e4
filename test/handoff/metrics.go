package handofftest

import (
	"slices"
	"strconv"
	"strings"
)

// Sum returns the sum of a metric in a text of Prometheus' exposition format over the series that contain one of the texts.
func Sum(metrics, name string, texts ...string) (sum float64) {
	for line := range strings.Lines(metrics) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		contains := func(text string) bool { return strings.Contains(series, text) }
		if number, err := strconv.ParseFloat(value, 64); err == nil && strings.HasPrefix(series, name+"{") && slices.ContainsFunc(texts, contains) {
			sum += number
		}
	}
	return sum
}
