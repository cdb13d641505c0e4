package threeway_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// applied is an apply that changes an image: the manifest drops a field, and live has the API server's defaults.
type applied struct {
	sample               sample
	base, manifest, live []byte
}

// deploymentOf returns an apply of a Deployment with the given number of containers, each with ports, variables and mounts.
func deploymentOf(tb testing.TB, containers int) applied {
	tb.Helper()
	o := sampleObjects(tb)[4]
	if o.name != "deployment" {
		tb.Fatalf("the sample is %s", o.name)
	}
	template := `{"name":"c%d","image":"web:1.%s","args":["--verbose","--port=8080"],"ports":[{"containerPort":8080}],` +
		`"env":[{"name":"MODE","value":"fast"},{"name":"LEVEL","value":"3"},{"name":"POD","value":"x"}],` +
		`"resources":{"limits":{"cpu":"1","memory":"512Mi"},"requests":{"cpu":"250m"}},"volumeMounts":[{"name":"v","mountPath":"/etc/web"}]%s}`
	defaulted := `,"imagePullPolicy":"IfNotPresent","terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"`
	list := func(image, more string) string {
		var b bytes.Buffer
		for i := range containers {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, template, i, image, more)
		}
		return b.String()
	}
	text := func(image, spec, more, around string) []byte {
		return fmt.Appendf(nil, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"app":"web","team":"checkout"},"name":"web"%s},`+
			`"spec":{"replicas":3,%s"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[%s]}}}}`,
			around, spec, list(image, more))
	}
	return applied{
		sample: o, base: text("4", `"minReadySeconds":5,`, "", ""), manifest: text("5", "", "", ""),
		live: text("4", `"minReadySeconds":5,"progressDeadlineSeconds":600,"strategy":{"type":"RollingUpdate"},`, defaulted,
			`,"uid":"4b6e0c1e-7a7d-4e7c-9c0d-0d4f6a4f8a11","resourceVersion":"48211"`),
	}
}

// configMapOf returns an apply of a ConfigMap with the given number of values, all of which change.
func configMapOf(values int) applied {
	text := func(version string) []byte {
		var b strings.Builder
		for i := range values {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"setting-%04d":"the value of a setting in version %s"`, i, version)
		}
		return fmt.Appendf(nil, `{"apiVersion":"v1","data":{%s},"kind":"ConfigMap","metadata":{"name":"web","namespace":"shop"}}`, b.String())
	}
	var types schema.Types
	return applied{
		sample: sample{name: "configmap", typed: &corev1.ConfigMap{}, place: types.Of(&corev1.ConfigMap{})},
		base:   text("1"), manifest: text("2"), live: text("1"),
	}
}

// serviceOf returns an apply of a Service with the given number of ports, in another order than in live.
func serviceOf(tb testing.TB, ports int) applied {
	tb.Helper()
	all := sampleObjects(tb)
	o := all[len(all)-3]
	if o.name != "service" {
		tb.Fatalf("the sample is %s", o.name)
	}
	text := func(from int, more string) []byte {
		var b bytes.Buffer
		for i := range ports {
			port := (i*7919 + from) % ports
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"name":"port-number-%d","port":%d,"targetPort":"named-target-%d"%s}`, port, port+1, port, more)
		}
		return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"selector":{"app":"web"},"ports":[%s]}}`, &b)
	}
	return applied{
		sample: o, base: text(0, ""), manifest: text(1, `,"appProtocol":"http"`),
		live: text(2, `,"protocol":"TCP","nodePort":30080,"appProtocol":"https","note":"what a controller has noted on it, at some length and then some more"`),
	}
}

// patient is the maximum number of rounds of a comparison of times. The best time only gets closer to the real cost, and a busy
// machine needs many rounds.
const patient = 300

func TestThreeWayTakesLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	const eight = 8
	small, large := serviceOf(t, 625), serviceOf(t, 625*eight)
	best := map[*applied]time.Duration{&small: time.Hour, &large: time.Hour}
	perByte := func(a *applied) float64 {
		return float64(best[a].Nanoseconds()) / float64(len(a.base)+len(a.manifest)+len(a.live))
	}
	for round := 0; round < 5 || round < patient && perByte(&large) > 3*perByte(&small); round++ {
		for a := range best {
			best[a] = min(best[a], a.timed(t))
		}
	}
	t.Logf("%.2f ns for each byte read, %.2f ns in an object %d times as large", perByte(&small), perByte(&large), eight)
	if perByte(&large) > 3*perByte(&small) {
		t.Errorf("a byte costs %.2f ns in an object %d times as large, %.2f ns in the small one", perByte(&large), eight, perByte(&small))
	}
}

// timed merges once.
func (a *applied) timed(t *testing.T) time.Duration {
	t.Helper()
	start := time.Now()
	if _, err := threeway.Merge(a.base, a.manifest, a.live, a.sample.place, threeway.Options{}); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// TestThreeWayIsFasterThanStrategicpatch compares the best of many alternating runs, so that the load of the machine matters little.
func TestThreeWayIsFasterThanStrategicpatch(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	for _, a := range []applied{configMapOf(80), configMapOf(800), deploymentOf(t, 9), deploymentOf(t, 95), serviceOf(t, 50)} {
		ours, theirs := time.Hour, time.Hour
		for round := 0; round < 20 || round < patient && theirs < ours; round++ {
			ours = min(ours, a.timed(t))
			start := time.Now()
			if _, err := upstreamStrategic(a.base, a.manifest, a.live, a.sample.typed); err != nil {
				t.Fatal(err)
			}
			theirs = min(theirs, time.Since(start))
		}
		t.Logf("%s of %d bytes: %v, strategicpatch %v, %.1f times as fast", a.sample.name, len(a.live), ours, theirs, float64(theirs)/float64(ours))
		if theirs < ours {
			t.Errorf("%s of %d bytes: %v is not faster than %v", a.sample.name, len(a.live), ours, theirs)
		}
	}
}
