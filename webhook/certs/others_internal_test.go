package certs

import (
	"bytes"
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// bundles plays looks at the caBundle, by the time of each since the first, and returns what it is after the last.
func bundles(t *testing.T, o *others, begin time.Time, before []byte, looks map[time.Duration]pair) []byte {
	t.Helper()
	times := make([]time.Duration, 0, len(looks))
	for at := range looks {
		times = append(times, at)
	}
	slices.Sort(times)
	for _, at := range times {
		now := begin.Add(at)
		o.note(looks[at], now)
		var err error
		before, err = bundle(looks[at].ca, before, func(other *x509.Certificate) bool { return o.known(other, now) }, now)
		if err != nil {
			t.Fatal(err)
		}
	}
	return before
}

func TestAForeignAuthorityLeavesTheBundleAfterAMinute(t *testing.T) {
	current, old := authority(t, 0, caDuration).CertPEM, authority(t, 400*day, caDuration).CertPEM
	foreign, later := authority(t, -time.Minute, caDuration).CertPEM, foreignFor+time.Second
	now, is := time.Now(), pair{ca: current}
	for sentence, c := range map[string]struct {
		before []byte
		looks  map[time.Duration]pair
		want   []byte
	}{
		"it stays for the first look, for a replica may serve with it": {slices.Concat(foreign, current), map[time.Duration]pair{0: is}, slices.Concat(foreign, current)},
		"it goes after a minute":                                    {slices.Concat(foreign, current), map[time.Duration]pair{0: is, later: is}, current},
		"one that was current here stays for a day":                 {old, map[time.Duration]pair{0: {ca: old}, 1: is, day - time.Hour: is}, slices.Concat(current, old)},
		"and goes then":                                             {old, map[time.Duration]pair{0: {ca: old}, 1: is, day + 2*time.Hour: is}, current},
		"one that the Secret has as the one before stays for a day": {slices.Concat(current, old), map[time.Duration]pair{0: {ca: current, previous: old}, day / 2: {ca: current, previous: old}}, slices.Concat(current, old)},
		"one before from a clock that was ahead goes then as well":  {slices.Concat(foreign, current), map[time.Duration]pair{0: {ca: current, previous: foreign}, day + 2*time.Hour: {ca: current, previous: foreign}}, current},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(string(c.want), string(bundles(t, &others{}, now, c.before, c.looks))); diff != "" {
				t.Errorf("caBundle (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheNextLookIsWhenAForeignAuthorityIsToGo(t *testing.T) {
	current, foreign := authority(t, 0, caDuration).CertPEM, authority(t, 0, caDuration).CertPEM
	now, o := time.Now(), &others{}
	before := bundles(t, o, now, slices.Concat(current, foreign), map[time.Duration]pair{0: {ca: current}})
	if again := o.again(now.Add(foreignFor / 2)); again != foreignFor/2 || bytes.Equal(before, current) {
		t.Errorf("it looks again in %s", again)
	}
}

func TestSomebodyWhoResetsTheBundleIsAnsweredWithGrowingPauses(t *testing.T) {
	begin, writes := time.Now(), []time.Duration{}
	var r repairs
	for at := time.Duration(0); at < time.Minute; at += 100 * time.Millisecond { // it is reset at each moment
		if now := begin.Add(at); r.wait(now) == 0 {
			r.note(now)
			writes = append(writes, at)
		}
	}
	want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	calm := begin.Add(time.Hour)
	r.note(calm)
	if r.wait(calm) != firstPause {
		t.Errorf("after an hour without a reset, the pause is %s", r.wait(calm))
	}
}
