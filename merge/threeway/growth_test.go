package threeway_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/growth"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// joined joins n texts with commas, each with its number in place of each %[1]d.
func joined(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ",")
}

func TestThreeWayTakesLinearTime(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector distorts the times")
	}
	var types schema.Types
	place := types.Of(&corev1.Service{})
	growth.WantLinear(t, 1000, func(ports int) func() {
		service := func(format string) []byte { return []byte(`{"spec":{"ports":[` + joined(ports, format) + `]}}`) }
		base, live := service(`{"name":"p%[1]d","port":%[1]d}`), service(`{"name":"p%[1]d","port":%[1]d,"protocol":"TCP","nodePort":3%[1]d}`)
		manifest := service(`{"name":"p%[1]d","port":1%[1]d,"appProtocol":"http"}`) // some of them live's
		return func() {
			_, err := threeway.Merge(base, manifest, live, place, threeway.Options{})
			expect.NoError(t, err)
		}
	})
}

func TestThreeWayIsFasterThanStrategicpatch(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	var types schema.Types
	compare := func(o sample, base, manifest, live []byte) {
		t.Helper()
		growth.WantFaster(t, fmt.Sprintf("%s of %d bytes", o.name, len(live)), func() error {
			_, err := threeway.Merge(base, manifest, live, o.place, threeway.Options{})
			return err
		}, func() error {
			_, err := upstreamStrategic(base, manifest, live, o.typed)
			return err
		})
	}
	for _, o := range sampleObjects(t) {
		c := choices{script: scriptOf(1)}
		base, manifest, live := c.inputs(o)
		compare(o, jsontest.Encode(t, base), jsontest.Encode(t, manifest), jsontest.Encode(t, live))
	}
	const container = `{"name":"c%[1]d","image":"web:1","ports":[{"containerPort":8080}],"env":[{"name":"MODE","value":"fast"},{"name":"POD","value":"x"}]`
	deployment := func(more string) []byte { return jsontest.FromYAML(t, pods(joined(95, container+more+"}"))) }
	configMap := func(version string) []byte {
		return []byte(`{"data":{` + joined(800, `"setting-%04d":"the value of a setting in version `+version+`"`) + `}}`)
	}
	compare(sample{name: "large deployment", typed: &appsv1.Deployment{}, place: types.Of(&appsv1.Deployment{})},
		deployment(``), deployment(`,"args":["--verbose"]`), deployment(`,"imagePullPolicy":"IfNotPresent","terminationMessagePolicy":"File"`))
	compare(sample{name: "large configmap", typed: &corev1.ConfigMap{}, place: types.Of(&corev1.ConfigMap{})},
		configMap("1"), configMap("2"), configMap("1"))
}
