package certs

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/internal/expect"
)

func newRotator(dir string) *Rotator {
	r, err := New(&rest.Config{}, Options{
		Namespace: "handoff-system", Service: "handoff-webhook", Dir: dir, Log: logr.Discard(),
	})
	if err != nil {
		panic(err) // the configuration is valid
	}
	return r
}

// newCA returns a CA of the given age, which was created for the given duration.
func newCA(t *testing.T, age, duration time.Duration) *rotator.KeyPairArtifacts {
	t.Helper()
	created := time.Now().Add(-age)
	maker := &rotator.CertRotator{CAName: caName, CAOrganization: project}
	a, err := maker.CreateCACert(created.Add(-backdate), created.Add(duration))
	expect.NoError(t, err)
	return a
}

func newSeenCAs() *seenCAs { return &seenCAs{inSecret: map[string]bool{}, at: map[string]time.Time{}} }

// syncs are the content of the Secret at times since the first sync.
type syncs map[time.Duration]pair

func TestTheOldCAStaysInTheBundleForADay(t *testing.T) {
	older, old := newCA(t, 800*day, caDuration).CertPEM, newCA(t, 400*day, caDuration).CertPEM
	settled, fresh := newCA(t, overlap+time.Minute, caDuration).CertPEM, newCA(t, overlap-time.Minute, caDuration).CertPEM
	newest, expired := newCA(t, 0, caDuration).CertPEM, newCA(t, 400*day, 399*day).CertPEM
	newer := newCA(t, -time.Minute, caDuration).CertPEM
	is := func(ca []byte) pair { return pair{ca: ca} }
	const later = unknownFor + time.Second
	for sentence, c := range map[string]struct {
		before []byte
		syncs  syncs
		want   []byte
	}{
		"the bundle is empty":                       {nil, syncs{0: is(newest)}, newest},
		"the bundle is a placeholder":               {[]byte("\n"), syncs{0: is(newest)}, newest},
		"the CA is in the bundle":                   {settled, syncs{0: is(settled)}, settled},
		"a new CA is added":                         {settled, syncs{0: is(newest)}, slices.Concat(newest, settled)},
		"two new CAs are added within a day":        {old, syncs{0: is(old), 1: is(fresh), 2: is(newest), later: is(newest)}, slices.Concat(newest, fresh, old)},
		"both CAs are in the bundle":                {slices.Concat(newest, settled), syncs{0: is(newest)}, slices.Concat(newest, settled)},
		"both CAs are in another order":             {slices.Concat(settled, newest), syncs{0: is(newest)}, slices.Concat(newest, settled)},
		"an old CA has expired":                     {slices.Concat(expired, old), syncs{0: is(newest)}, slices.Concat(newest, old)},
		"another replica has just added a newer CA": {slices.Concat(newest, settled), syncs{0: is(settled)}, slices.Concat(newest, settled)},
		"an unknown CA stays at the first sync":     {slices.Concat(newer, newest), syncs{0: is(newest)}, slices.Concat(newer, newest)},
		"an unknown CA is removed after a minute":   {slices.Concat(newer, newest), syncs{0: is(newest), later: is(newest)}, newest},
		"CAs of before the first sync, a day ago":   {slices.Concat(settled, old, older), syncs{0: is(settled), later: is(settled)}, settled},
		"a CA that this replica used, within a day": {old, syncs{0: is(old), 1: is(newest), day - time.Hour: is(newest)}, slices.Concat(newest, old)},
		"a CA that this replica used, after a day":  {old, syncs{0: is(old), 1: is(newest), day + 2*time.Hour: is(newest)}, newest},
		"an older CA is put back into the Secret":   {newest, syncs{0: is(newest), later: is(newest), later + 1: is(settled)}, slices.Concat(newest, settled)},
		"the previous CA in the Secret, within a day": {
			slices.Concat(newest, old), syncs{0: {ca: newest, previous: old}, day / 2: {ca: newest, previous: old}}, slices.Concat(newest, old),
		},
		"a previous CA that is newer, after a day": {
			slices.Concat(newer, newest), syncs{0: {ca: newest, previous: newer}, day + 2*time.Hour: {ca: newest, previous: newer}}, newest,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			seen, now, got := newSeenCAs(), time.Now(), c.before
			for _, at := range slices.Sorted(maps.Keys(c.syncs)) {
				for range 2 { // the second call changes nothing
					next, err := seen.bundle(c.syncs[at], got, now.Add(at))
					expect.NoError(t, err)
					got = next
				}
			}
			expect.Equal(t, "caBundle", string(c.want), string(got))
		})
	}
	_, err := newSeenCAs().bundle(is([]byte("not a CA")), newest, time.Now())
	expect.Error(t, "a broken CA", "ca.crt", err)
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
	expect.Equal(t, "writes", want, writes)
	later := begin.Add(time.Hour)
	if first, second := r.delayWrite(later), r.delayWrite(later); first != 0 || second != firstPause {
		t.Errorf("after an hour without a reset, the pauses are %s and %s", first, second)
	}
}
