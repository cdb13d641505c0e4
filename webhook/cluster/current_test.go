package cluster_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/proxy"
	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// noticed is how soon facts must say that a watch cannot be renewed.
const noticed = 30 * time.Second

// broken is a way between the facts and the API server that can be broken.
type broken struct {
	config *rest.Config
	broken func()
	repair func()
}

func overTCP(t *testing.T, harm func(*proxy.TCP)) broken {
	t.Helper()
	server, err := url.Parse(suite.plane.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	p := proxy.StartTCP(t, server.Host)
	config := rest.CopyConfig(suite.plane.Config)
	config.Host = "https://" + p.Address
	return broken{config, func() { harm(p) }, p.Pass}
}

func overHTTP(t *testing.T, harm func(*proxy.HTTP)) broken {
	t.Helper()
	p := proxy.StartHTTP(t, suite.plane.Config)
	return broken{&rest.Config{Host: p.URL, QPS: 1000, Burst: 1000}, func() { harm(p) }, p.Pass}
}

// lost are the ways of losing the API server, with what the check says. None may look like a quiet cluster.
func lost() map[string]loss {
	const noAnswer = "the API server did not answer within 5s"
	refuse := func(status int) func(*testing.T) broken {
		return func(t *testing.T) broken {
			t.Helper()
			return overHTTP(t, func(p *proxy.HTTP) { p.Refuse(status) })
		}
	}
	tcp := func(harm func(*proxy.TCP)) func(*testing.T) broken {
		return func(t *testing.T) broken {
			t.Helper()
			return overTCP(t, harm)
		}
	}
	watches := func(harm func(*proxy.HTTP)) func(*testing.T) broken {
		return func(t *testing.T) broken {
			t.Helper()
			return overHTTP(t, harm)
		}
	}
	return map[string]loss{
		"a proxy ends every connection":                     {tcp((*proxy.TCP).Cut), noAnswer},
		"a proxy accepts connections and passes on nothing": {tcp((*proxy.TCP).Silence), noAnswer},
		"a proxy ends watches alone":                        {watches((*proxy.HTTP).CutWatches), noAnswer},
		"a proxy passes on nothing of watches alone":        {watches((*proxy.HTTP).SilenceWatches), "the watch did not end when it was due"},
		"the token is not accepted any more":                {refuse(http.StatusUnauthorized), "provide credentials"},
		"the permission is gone":                            {refuse(http.StatusForbidden), "Forbidden"},
		"a load balancer has no API server behind it":       {refuse(http.StatusBadGateway), "Bad Gateway"},
	}
}

type loss struct {
	way func(*testing.T) broken
	// want is the reason.
	want string
}

// TestFactsThatCannotBeRenewedSaySo breaks all ways at the same time: each takes a while.
func TestFactsThatCannotBeRenewedSaySo(t *testing.T) {
	t.Parallel()
	n := namespace(t, map[string]string{ownership.ModeAnnotation: "warn"})
	known := func(f *cluster.Facts) string { mode, _ := f.NamespaceMode(n.Name); return mode }
	ways, facts := map[string]broken{}, map[string]*cluster.Facts{}
	for sentence, c := range lost() {
		ways[sentence] = c.way(t)
		facts[sentence] = watching(t, ways[sentence].config)
	}
	for sentence, f := range facts {
		eventually(t, sentence+": the namespace is known before", "warn", func() string { return known(f) })
		if err := f.Check(); err != nil {
			t.Fatalf("%s: before anything is broken: %v", sentence, err)
		}
	}
	for _, way := range ways {
		way.broken()
	}
	began := time.Now()
	for sentence, f := range facts {
		wantStale(t, f, sentence, lost()[sentence].want, began)
	}
	setMode(t, n, "enforce")
	eventually(t, "facts that are not cut off follow", "enforce", func() string { return known(suite.facts) })
	for sentence, f := range facts {
		if got := known(f); got != "warn" {
			t.Errorf("%s: the way is not broken: mode %s is known", sentence, got)
		}
		ways[sentence].repair()
	}
	for sentence, f := range facts {
		eventually(t, sentence+": the change is known without a restart", "enforce", func() string { return known(f) })
		eventually(t, sentence+": the check passes again", true, func() bool { return f.Check() == nil })
		if _, stale := f.Stale(); stale {
			t.Errorf("%s: they are stale and the check does not say so", sentence)
		}
	}
}

// wantStale waits until the check names all resources, with the reason, and the metric has their age.
func wantStale(t *testing.T, facts *cluster.Facts, sentence, reason string, began time.Time) {
	t.Helper()
	said := ""
	for strings.Count(said, " are not up to date since ") < 3 || !strings.Contains(said, reason) {
		if time.Since(began) > noticed {
			t.Errorf("%s: %s after the watches were lost, the check says: %s", sentence, noticed, said)
			return
		}
		time.Sleep(10 * time.Millisecond)
		if err := facts.Check(); err != nil {
			said = err.Error()
		}
	}
	if since, stale := facts.Stale(); !stale || since.After(time.Now()) {
		t.Errorf("%s: the check says %s; stale: %t, since %s", sentence, said, stale, since)
	}
	if !facts.Ready() {
		t.Errorf("%s: what was known before is not known any more", sentence)
	}
	for resource, age := range ages(t, facts) {
		if age < 1 {
			t.Errorf("%s: the age of %s is %v s", sentence, resource, age)
		}
	}
}

// ages reads the metric.
func ages(t *testing.T, facts *cluster.Facts) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := registry.Register(facts.Ages()); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "handoff_cache_age_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			found[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
		}
	}
	if len(found) != 3 {
		t.Errorf("three resources are expected, got %v", found)
	}
	return found
}

// TestFactsStayUpToDateWhereNothingHappens verifies that a quiet cluster does not look like a lost one, and that no proof
// takes as long as the limit: over several watches, the age begins anew again and again.
func TestFactsStayUpToDateWhereNothingHappens(t *testing.T) {
	t.Parallel()
	facts := watching(t, suite.plane.Config)
	eventually(t, "they are ready", true, facts.Ready)
	renewed, before := map[string]int{}, ages(t, facts)
	for end := time.Now().Add(noticed); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err := facts.Check(); err != nil {
			t.Fatal(err)
		}
		now := ages(t, facts)
		for resource, age := range now {
			if age < before[resource] {
				renewed[resource]++
			}
		}
		before = now
	}
	for resource := range before {
		if renewed[resource] < 2 {
			t.Errorf("%s: the age began anew %d times in %s", resource, renewed[resource], noticed)
		}
	}
}

func setMode(t *testing.T, n *corev1.Namespace, mode string) {
	t.Helper()
	n.Annotations[ownership.ModeAnnotation] = mode
	if err := suite.client.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// TestFactsWaitForAnAPIServer verifies that facts exist before anybody answers, and are ready when somebody does.
func TestFactsWaitForAnAPIServer(t *testing.T) {
	t.Parallel()
	ways, facts := map[string]broken{}, map[string]*cluster.Facts{}
	for sentence, c := range lost() {
		ways[sentence] = c.way(t)
		ways[sentence].broken()
		facts[sentence] = watching(t, ways[sentence].config)
	}
	for sentence, f := range facts {
		eventually(t, sentence+": the check names three resources and a reason", 3, func() int {
			err := f.Check()
			if err == nil {
				t.Fatalf("%s: the check has nothing to say", sentence)
			}
			return strings.Count(err.Error(), "are not listed yet: ")
		})
		if f.Ready() {
			t.Fatalf("%s: they are ready", sentence)
		}
		ways[sentence].repair()
	}
	for sentence, f := range facts {
		eventually(t, sentence+": they are ready", true, f.Ready)
	}
}
