package manifests_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
)

func TestTheChartRendersTheObjectsOfTheOverlays(t *testing.T) {
	t.Parallel()
	const (
		noPolicy    = `modePolicy.enabled=false`
		certManager = `certificates="cert-manager"`
		guard       = `guard.enabled=true`
		monitoring  = `monitoring.enabled=true`
		noLabels    = `namespaceLabels.enabled=false`
	)
	for sentence, c := range map[string]struct {
		folders, values []string
	}{
		"with explicit rules": {[]string{"overlays/default", "components/explicit-rules"}, []string{explicitRules}},
		"on port 10250":       {[]string{"overlays/default", "components/port-10250"}, []string{`ports.webhook=10250`}},
		"on OpenShift":        {[]string{"overlays/default", "components/openshift"}, []string{withoutUser}},
		"in the network of the nodes": {
			[]string{"overlays/default", "components/host-network"},
			[]string{`hostNetwork=true`, `ports={"webhook":10260,"metrics":10261,"health":10262}`},
		},
		"with the default values":             {[]string{"overlays/default"}, nil},
		"with self-signed certificates":       {[]string{"overlays/self-signed"}, []string{noPolicy}},
		"with certificates from cert-manager": {[]string{"overlays/cert-manager"}, []string{noPolicy, certManager}},
		"with the guard":                      {[]string{"overlays/default", guardFolder()}, []string{guard}},
		"with monitoring":                     {[]string{"overlays/default", "components/monitoring"}, []string{monitoring}},
		"with reviews of all namespaces":      {[]string{"overlays/default", "components/all-namespaces"}, []string{noLabels}},
		"with cert-manager and all options": {
			[]string{"overlays/cert-manager", "policies", guardFolder(), "components/monitoring"}, []string{certManager, guard, monitoring},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			want := alike(t, kustomize(t, c.folders...))
			// Helm creates the namespace of a release if it does not exist.
			delete(want, "Namespace/"+system)
			expect.Equal(t, "the overlay and the chart", want, alike(t, chart(t, c.values...)))
		})
	}
}

// ofHelm are the labels that only the chart's objects have.
var ofHelm = []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "app.kubernetes.io/version", "helm.sh/chart"}

// alike removes only the unavoidable differences between the overlays and the chart.
func alike(t *testing.T, all objects) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	for _, o := range all {
		labels := o.GetLabels()
		maps.DeleteFunc(labels, func(name, _ string) bool { return slices.Contains(ofHelm, name) })
		o.SetLabels(labels)
		if o.GetKind() == "ConfigMap" {
			sameContent(t, o)
		}
		found[o.GetKind()+"/"+o.GetNamespace()+"/"+o.GetName()] = o.Object
	}
	if namespace, ok := found["Namespace//"+system]; ok {
		delete(found, "Namespace//"+system)
		found["Namespace/"+system] = namespace
	}
	return found
}

// sameContent decodes the files of a ConfigMap, because comments and whitespace may differ.
func sameContent(t *testing.T, configMap *unstructured.Unstructured) {
	t.Helper()
	files, _, err := unstructured.NestedStringMap(configMap.Object, "data")
	expect.NoError(t, err)
	content := map[string]any{}
	for name, text := range files {
		switch {
		case name == "config.yaml":
			content[name], err = config.Parse([]byte(text))
		case strings.HasSuffix(name, ".json"):
			var value any
			err = json.Unmarshal([]byte(text), &value)
			content[name] = value
		default:
			content[name] = text
		}
		if err != nil {
			t.Fatalf("%s of %s: %v", name, configMap.GetName(), err)
		}
	}
	configMap.Object["data"] = content
}
