package cluster_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/test/proxy"
	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// noticed is the time within which state must report that a watch cannot be renewed.
const noticed = 30 * time.Second

// connection is a connection to the API server that can be broken and repaired.
type connection struct {
	config *rest.Config
	fail   func()
	repair func()
}

func overTCP(fail func(*proxy.TCP)) func(*testing.T) connection {
	return func(t *testing.T) connection {
		t.Helper()
		server, err := url.Parse(suite.plane.Config.Host)
		expect.NoError(t, err)
		p := proxy.StartTCP(t, server.Host)
		config := rest.CopyConfig(suite.plane.Config)
		config.Host = "https://" + p.Address
		return connection{config, func() { fail(p) }, p.Pass}
	}
}

func overHTTP(fail func(*proxy.HTTP)) func(*testing.T) connection {
	return func(t *testing.T) connection {
		t.Helper()
		p := proxy.StartHTTP(t, suite.plane.Config)
		return connection{&rest.Config{Host: p.URL, QPS: 1000, Burst: 1000}, func() { fail(p) }, p.Pass}
	}
}

// outages returns ways to lose the API server, with the reason in the check's error. None may look like a cluster without
// changes.
func outages() map[string]outage {
	const noResponse = "the API server did not answer within 5s"
	refuse := func(status int) func(*testing.T) connection {
		return overHTTP(func(p *proxy.HTTP) { p.Refuse(status) })
	}
	return map[string]outage{
		"a proxy closes every connection":             {overTCP((*proxy.TCP).Cut), noResponse},
		"a proxy forwards nothing":                    {overTCP((*proxy.TCP).Silence), noResponse},
		"a proxy closes only watches":                 {overHTTP((*proxy.HTTP).CutWatches), noResponse},
		"a proxy forwards nothing of watches":         {overHTTP((*proxy.HTTP).SilenceWatches), "did not end the watch after its timeout"},
		"the token is no longer accepted":             {refuse(http.StatusUnauthorized), "provide credentials"},
		"the permission is revoked":                   {refuse(http.StatusForbidden), "Forbidden"},
		"a load balancer has no API server behind it": {refuse(http.StatusBadGateway), "Bad Gateway"},
		"an API server behind it does not answer":     {refuse(http.StatusGatewayTimeout), "the server was unable to return a response in the time allotted"},
	}
}

type outage struct {
	connect func(*testing.T) connection
	want    string // the reason
}

// TestFactsReportStaleWatches causes all outages at the same time, because each takes a while.
func TestFactsReportStaleWatches(t *testing.T) {
	t.Parallel()
	n := namespace(t, map[string]string{optin.Annotation: "warn"})
	known := func(f *cluster.State) string { mode, _ := f.NamespaceMode(n.Name); return mode }
	connections, state := map[string]connection{}, map[string]*cluster.State{}
	for sentence, c := range outages() {
		connections[sentence] = c.connect(t)
		state[sentence] = watching(t, connections[sentence].config)
	}
	for sentence, f := range state {
		eventually(t, sentence+": the mode before the outage", "warn", func() string { return known(f) })
		if err := f.Check(); err != nil {
			t.Fatalf("%s: before the outage: %v", sentence, err)
		}
	}
	for _, c := range connections {
		c.fail()
	}
	began := time.Now()
	for sentence, f := range state {
		wantStale(t, f, sentence, outages()[sentence].want, began)
	}
	n.Annotations[optin.Annotation] = "enforce"
	expect.NoError(t, suite.client.Update(t.Context(), n))
	eventually(t, "state without an outage", "enforce", func() string { return known(suite.state) })
	for sentence, f := range state {
		expect.Equal(t, sentence+": the mode during the outage", "warn", known(f))
		connections[sentence].repair()
	}
	for sentence, f := range state {
		eventually(t, sentence+": the mode after the outage, without a restart", "enforce", func() string { return known(f) })
		eventually(t, sentence+": the check passes again", true, func() bool { return f.Check() == nil })
		if _, stale := f.Stale(); stale {
			t.Errorf("%s: the state are stale, but the check passes", sentence)
		}
	}
}

// wantStale waits until the check's error contains all resources and the reason, and the metric has their age.
func wantStale(t *testing.T, state *cluster.State, sentence, reason string, began time.Time) {
	t.Helper()
	got := ""
	for strings.Count(got, " have been stale since ") < 3 || !strings.Contains(got, reason) {
		if time.Since(began) > noticed {
			t.Errorf("%s: %s into the outage, the check returns: %s", sentence, noticed, got)
			return
		}
		time.Sleep(10 * time.Millisecond)
		if err := state.Check(); err != nil {
			got = err.Error()
		}
	}
	if since, stale := state.Stale(); !stale || since.After(time.Now()) {
		t.Errorf("%s: the check returns %s; stale: %t, since %s", sentence, got, stale, since)
	}
	if !state.Ready() {
		t.Errorf("%s: the state are no longer ready", sentence)
	}
	for resource, age := range ages(t, state) {
		if age < 1 {
			t.Errorf("%s: the age of %s is %v s", sentence, resource, age)
		}
	}
}

// ages reads the metric.
func ages(t *testing.T, state *cluster.State) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	expect.NoError(t, registry.Register(state.Ages()))
	families, err := registry.Gather()
	expect.NoError(t, err)
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "handoff_cache_age_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			found[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
		}
	}
	expect.Equal(t, "number of resources", 3, len(found))
	return found
}

// TestFactsStayFreshWithoutChanges verifies that state do not become stale in a cluster without changes: over several watches,
// the age is reset again and again.
func TestFactsStayFreshWithoutChanges(t *testing.T) {
	t.Parallel()
	state := watching(t, suite.plane.Config)
	eventually(t, "the state are ready", true, state.Ready)
	renewed, before := map[string]int{}, ages(t, state)
	for end := time.Now().Add(noticed); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		expect.NoError(t, state.Check())
		now := ages(t, state)
		for resource, age := range now {
			if age < before[resource] {
				renewed[resource]++
			}
		}
		before = now
	}
	for resource := range before {
		if renewed[resource] < 2 {
			t.Errorf("%s: the age was reset %d times in %s", resource, renewed[resource], noticed)
		}
	}
}
