package certs

import (
	"crypto/x509"
	"time"

	"k8s.io/client-go/util/cert"
)

// unknownFor is how long an unknown CA stays in the caBundle. A replica that has just started does not know the CAs that other
// replicas may serve with until they have switched to the current one.
const unknownFor = time.Minute

// otherCAs are the CAs that the caBundle may contain besides the current one.
type otherCAs struct {
	// until is when a CA that was in the Secret is removed from the caBundle, after it has been replaced.
	until map[string]time.Time
	// found is when an unknown CA was first seen.
	found map[string]time.Time
}

// record records the CAs in the Secret.
func (o *otherCAs) record(p pair, now time.Time) {
	if o.until == nil {
		o.until, o.found = map[string]time.Time{}, map[string]time.Time{}
	}
	current, _ := cert.ParseCertsPEM(p.ca)
	previous, _ := cert.ParseCertsPEM(p.previous)
	for _, ca := range current {
		o.until[string(ca.Raw)] = now.Add(overlap)
	}
	for _, ca := range previous {
		if _, recorded := o.until[string(ca.Raw)]; !recorded && len(current) > 0 {
			o.until[string(ca.Raw)] = current[0].NotBefore.Add(backdate + overlap)
		}
	}
}

// known reports whether replicas may still serve certificates of a CA.
func (o *otherCAs) known(ca *x509.Certificate, now time.Time) bool {
	name := string(ca.Raw)
	if until, ok := o.until[name]; ok {
		return now.Before(until)
	}
	since, ok := o.found[name]
	if !ok {
		since = now
		o.found[name] = now
	}
	return now.Sub(since) < unknownFor
}

// nextSync returns the time until the next unknown CA is to be removed, at most resyncEvery.
func (o *otherCAs) nextSync(now time.Time) time.Duration {
	next := resyncEvery
	for name, since := range o.found {
		left := since.Add(unknownFor).Sub(now)
		if left > 0 {
			next = min(next, left)
		} else if left < -overlap {
			delete(o.found, name)
		}
	}
	return next
}
