package cluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxAge is how long ago an informer's watch may last have proved to be current. In a healthy cluster each proves it every
// 8 seconds; the kubelet needs up to 15 seconds to see that a pod is not ready.
const maxAge = 15 * time.Second

// proof is when a watch last proved to be current, and why it has not since.
type proof struct {
	mutex   sync.Mutex
	last    time.Time
	problem error
}

func newProof() *proof { return &proof{last: time.Now()} }

func (p *proof) given() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.last, p.problem = time.Now(), nil
}

func (p *proof) failed(err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.problem = err
}

func (p *proof) read() (last time.Time, problem error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.last, p.problem
}

// Stale reports whether what is known can be out of date, because a watch could not be renewed, and since when.
func (f *Facts) Stale() (since time.Time, stale bool) {
	for _, proof := range f.proofs {
		if last, _ := proof.read(); time.Since(last) > maxAge && (!stale || last.Before(since)) {
			since, stale = last, true
		}
	}
	return since, stale
}

// outdated returns a text for each resource whose watch cannot be renewed. A text stays the same as long as its reason does.
func (f *Facts) outdated() []string {
	var texts []string
	for resource, proof := range f.proofs {
		last, problem := proof.read()
		if time.Since(last) <= maxAge {
			continue
		}
		text := fmt.Sprintf("%s are not up to date since %s", resource, last.UTC().Format(time.RFC3339))
		if problem != nil {
			text = fmt.Sprintf("%s: %v", text, problem)
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts
}

// Ages returns the metric of how old the facts can be.
func (f *Facts) Ages() prometheus.Collector {
	return ages{f, prometheus.NewDesc("handoff_cache_age_seconds",
		"Time since the watch of a resource last proved to be current, or since the start, in seconds.", []string{"resource"}, nil)}
}

type ages struct {
	facts       *Facts
	description *prometheus.Desc
}

func (a ages) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- a.description }

func (a ages) Collect(metrics chan<- prometheus.Metric) {
	for resource, proof := range a.facts.proofs {
		last, _ := proof.read()
		metrics <- prometheus.MustNewConstMetric(a.description, prometheus.GaugeValue, time.Since(last).Seconds(), resource)
	}
}

// notCurrent is the error of outdated facts.
func notCurrent(texts []string) error {
	return fmt.Errorf("%s (writes are decided by what was known then)", strings.Join(texts, "; "))
}
