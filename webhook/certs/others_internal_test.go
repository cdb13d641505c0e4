package certs

import (
	"bytes"
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// bundles simulates syncs, keyed by the time since the first, and returns the caBundle after the last.
func bundles(t *testing.T, o *otherCAs, begin time.Time, before []byte, syncs map[time.Duration]pair) []byte {
	t.Helper()
	times := make([]time.Duration, 0, len(syncs))
	for at := range syncs {
		times = append(times, at)
	}
	slices.Sort(times)
	for _, at := range times {
		now := begin.Add(at)
		o.record(syncs[at], now)
		var err error
		before, err = bundle(syncs[at].ca, before, func(other *x509.Certificate) bool { return o.known(other, now) }, now)
		if err != nil {
			t.Fatal(err)
		}
	}
	return before
}

func TestAnUnknownCALeavesTheBundleAfterAMinute(t *testing.T) {
	current, old := newCA(t, 0, caDuration).CertPEM, newCA(t, 400*day, caDuration).CertPEM
	unknown, later := newCA(t, -time.Minute, caDuration).CertPEM, unknownFor+time.Second
	now, is := time.Now(), pair{ca: current}
	for sentence, c := range map[string]struct {
		before []byte
		syncs  map[time.Duration]pair
		want   []byte
	}{
		"an unknown CA stays at the first sync":              {slices.Concat(unknown, current), map[time.Duration]pair{0: is}, slices.Concat(unknown, current)},
		"an unknown CA is removed after a minute":            {slices.Concat(unknown, current), map[time.Duration]pair{0: is, later: is}, current},
		"a CA that this replica used stays for a day":        {old, map[time.Duration]pair{0: {ca: old}, 1: is, day - time.Hour: is}, slices.Concat(current, old)},
		"a CA that this replica used is removed after a day": {old, map[time.Duration]pair{0: {ca: old}, 1: is, day + 2*time.Hour: is}, current},
		"the previous CA in the Secret stays for a day":      {slices.Concat(current, old), map[time.Duration]pair{0: {ca: current, previous: old}, day / 2: {ca: current, previous: old}}, slices.Concat(current, old)},
		"a previous CA that is newer is removed after a day": {slices.Concat(unknown, current), map[time.Duration]pair{0: {ca: current, previous: unknown}, day + 2*time.Hour: {ca: current, previous: unknown}}, current},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(string(c.want), string(bundles(t, &otherCAs{}, now, c.before, c.syncs))); diff != "" {
				t.Errorf("caBundle (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheNextSyncIsWhenAnUnknownCAIsRemoved(t *testing.T) {
	current, unknown := newCA(t, 0, caDuration).CertPEM, newCA(t, 0, caDuration).CertPEM
	now, o := time.Now(), &otherCAs{}
	before := bundles(t, o, now, slices.Concat(current, unknown), map[time.Duration]pair{0: {ca: current}})
	if next := o.nextSync(now.Add(unknownFor / 2)); next != unknownFor/2 || bytes.Equal(before, current) {
		t.Errorf("the next sync is in %s", next)
	}
}

func TestWritesOfTheBundleBackOff(t *testing.T) {
	begin, writes := time.Now(), []time.Duration{}
	r := newRotator("")
	for at := time.Duration(0); at < time.Minute; at += 100 * time.Millisecond { // the caBundle is reset every 100 ms
		if r.delayWrite(begin.Add(at)) == 0 {
			writes = append(writes, at)
		}
	}
	want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	later := begin.Add(time.Hour)
	if first, second := r.delayWrite(later), r.delayWrite(later); first != 0 || second != firstPause {
		t.Errorf("after an hour without a reset, the pauses are %s and %s", first, second)
	}
}
