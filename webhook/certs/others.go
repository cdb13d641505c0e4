package certs

import (
	"crypto/x509"
	"time"

	"k8s.io/client-go/util/cert"
)

// foreignFor is how long an authority in the caBundle that is not known stays there: a replica that has not started long ago
// does not know which one another may still serve with, for the time until it has changed.
const foreignFor = time.Minute

// others are the authorities besides the current one that the caBundle may have.
type others struct {
	// until is how long an authority of the Secret, or the one before, stays in the caBundle once another is current.
	until map[string]time.Time
	// found is when one that is not known was first seen.
	found map[string]time.Time
}

// note remembers the authorities of the Secret.
func (o *others) note(p pair, now time.Time) {
	if o.until == nil {
		o.until, o.found = map[string]time.Time{}, map[string]time.Time{}
	}
	current, _ := cert.ParseCertsPEM(p.ca)
	previous, _ := cert.ParseCertsPEM(p.previous)
	for _, authority := range current {
		o.until[string(authority.Raw)] = now.Add(overlap)
	}
	for _, authority := range previous {
		if _, was := o.until[string(authority.Raw)]; !was && len(current) > 0 {
			o.until[string(authority.Raw)] = current[0].NotBefore.Add(backdate + overlap)
		}
	}
}

// known reports whether replicas may still serve with an authority's certificates.
func (o *others) known(authority *x509.Certificate, now time.Time) bool {
	name := string(authority.Raw)
	if until, ok := o.until[name]; ok {
		return now.Before(until)
	}
	since, ok := o.found[name]
	if !ok {
		since = now
		o.found[name] = now
	}
	return now.Sub(since) < foreignFor
}

// again returns when to look again: when the next authority that is not known has been there for long enough.
func (o *others) again(now time.Time) time.Duration {
	again := lookEvery
	for name, since := range o.found {
		left := since.Add(foreignFor).Sub(now)
		if left > 0 {
			again = min(again, left)
		} else if left < -overlap {
			delete(o.found, name)
		}
	}
	return again
}

const (
	// firstPause is the one after the first write of the caBundle; each is twice as long as the one before.
	firstPause = time.Second
	mostPause  = 5 * time.Minute
)

// repairs are writes of the caBundle. Whoever else writes it all the time is answered with growing pauses.
type repairs struct {
	last  time.Time
	pause time.Duration
}

// wait returns how long the next write has to wait.
func (r *repairs) wait(now time.Time) time.Duration { return max(0, r.last.Add(r.pause).Sub(now)) }

// note remembers a write. When the caBundle has been left alone for long enough, the pauses begin anew.
func (r *repairs) note(now time.Time) {
	if now.Sub(r.last) > 2*max(r.pause, firstPause)+firstPause {
		r.pause = 0
	}
	r.last, r.pause = now, min(max(2*r.pause, firstPause), mostPause)
}
