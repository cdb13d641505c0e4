package cluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxAge is the age from which an informer's cache is stale. In a healthy cluster, each watch is confirmed every 8 seconds. The
// kubelet needs up to 15 more seconds to mark a pod as not ready.
const maxAge = 15 * time.Second

// freshness is when a watch was last confirmed to be up to date, and the last error since.
type freshness struct {
	mutex   sync.Mutex
	last    time.Time
	lastErr error
}

func newFreshness() *freshness { return &freshness{last: time.Now()} }

func (f *freshness) confirmed() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.last, f.lastErr = time.Now(), nil
}

func (f *freshness) failed(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.lastErr = err
}

func (f *freshness) read() (last time.Time, lastErr error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.last, f.lastErr
}

// Stale reports whether the state may be out of date because a watch could not be renewed, and since when.
func (f *State) Stale() (since time.Time, stale bool) {
	for _, freshness := range f.freshness {
		if last, _ := freshness.read(); time.Since(last) > maxAge && (!stale || last.Before(since)) {
			since, stale = last, true
		}
	}
	return since, stale
}

// staleResources returns a text for each resource whose watch cannot be renewed. The text only changes if the reason does,
// because each change of readiness is logged.
func (f *State) staleResources() []string {
	var texts []string
	for resource, freshness := range f.freshness {
		last, lastErr := freshness.read()
		if time.Since(last) <= maxAge {
			continue
		}
		text := fmt.Sprintf("%s have been stale since %s", resource, last.UTC().Format(time.RFC3339))
		if lastErr != nil {
			text = fmt.Sprintf("%s: %v", text, lastErr)
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts
}

// Ages returns the metric of the age of each resource.
func (f *State) Ages() prometheus.Collector {
	return ages{f, prometheus.NewDesc("handoff_cache_age_seconds",
		"Seconds since the watch of a resource was last confirmed to be up to date, or since startup.", []string{"resource"}, nil)}
}

type ages struct {
	state       *State
	description *prometheus.Desc
}

func (a ages) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- a.description }

func (a ages) Collect(metrics chan<- prometheus.Metric) {
	for resource, freshness := range a.state.freshness {
		last, _ := freshness.read()
		metrics <- prometheus.MustNewConstMetric(a.description, prometheus.GaugeValue, time.Since(last).Seconds(), resource)
	}
	for _, watch := range a.state.scalers.running() {
		last, _ := watch.freshness.read()
		metrics <- prometheus.MustNewConstMetric(a.description, prometheus.GaugeValue, time.Since(last).Seconds(),
			watch.resource.GroupResource().String())
	}
}

// staleError returns the error for stale resources.
func staleError(texts []string) error {
	return fmt.Errorf("%s (decisions use the last known state)", strings.Join(texts, "; "))
}
