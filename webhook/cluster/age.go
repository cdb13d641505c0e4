package cluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Stale reports whether the state may be out of date because a watch could not be renewed, and since when.
func (f *State) Stale() (since time.Time, stale bool) {
	for _, informer := range f.informers {
		if last, _ := informer.freshness.read(); time.Since(last) > maxAge && (!stale || last.Before(since)) {
			since, stale = last, true
		}
	}
	return since, stale
}

// Check is a readiness check. It returns an error with the resources that have not been listed yet or are stale, and the reason.
// If the API server denied a request, the reason is its message, which contains the verb, the resource and the user. The error
// only changes if the reason does, because each change of readiness is logged.
func (f *State) Check() error {
	ready := f.Ready()
	var texts []string
	for resource, informer := range f.informers {
		last, lastErr := informer.freshness.read()
		text := resource + " are not listed yet"
		switch {
		case !informer.HasSynced():
		case ready && time.Since(last) > maxAge:
			text = fmt.Sprintf("%s have been stale since %s", resource, last.UTC().Format(time.RFC3339))
		default:
			continue
		}
		if lastErr != nil {
			text += ": " + lastErr.Error()
		}
		texts = append(texts, text)
	}
	if !ready { // a kind that is installed later is not waited for
		for _, resource := range f.scalers.missing() {
			texts = append(texts, resource+" are not listed yet")
		}
	}
	slices.Sort(texts)
	switch {
	case ready && texts == nil:
		return nil
	case ready:
		return fmt.Errorf("%s (decisions use the last known state)", strings.Join(texts, "; "))
	case texts == nil:
		return errors.New("the informers have just synced")
	default:
		return fmt.Errorf("%s (requires list and watch permission)", strings.Join(texts, "; "))
	}
}

// Ages returns the metric of the age of each resource.
func (f *State) Ages() prometheus.Collector { return ages{f} }

type ages struct{ state *State }

var ageOfResource = prometheus.NewDesc("handoff_cache_age_seconds",
	"Seconds since the watch of a resource was last confirmed to be up to date, or since startup.", []string{"resource"}, nil)

// Describe implements prometheus.Collector. There is a metric of the name even before a resource is watched.
func (a ages) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- ageOfResource }

// Collect implements prometheus.Collector.
func (a ages) Collect(metrics chan<- prometheus.Metric) {
	informers := maps.Clone(a.state.informers)
	for _, watch := range a.state.scalers.current().watches {
		informers[watch.name()] = watch.informer
	}
	for resource, informer := range informers {
		last, _ := informer.freshness.read()
		metrics <- prometheus.MustNewConstMetric(ageOfResource, prometheus.GaugeValue, time.Since(last).Seconds(), resource)
	}
}
