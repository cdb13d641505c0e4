package manifests_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/config"
)

func TestTheChartRendersTheObjectsOfTheOverlays(t *testing.T) {
	t.Parallel()
	const (
		noPolicy    = `modePolicy.enabled=false`
		certManager = `certificates="cert-manager"`
		guard       = `guard.enabled=true`
		monitoring  = `monitoring.enabled=true`
	)
	for sentence, c := range map[string]struct {
		folders, values []string
	}{
		"with the default values":      {[]string{"overlays/default"}, nil},
		"with certificates of its own": {[]string{"overlays/self-signed"}, []string{noPolicy}},
		"with those of cert-manager":   {[]string{"overlays/cert-manager"}, []string{noPolicy, certManager}},
		"with the guard":               {[]string{"overlays/default", "guard"}, []string{guard}},
		"with monitoring":              {[]string{"overlays/default", "components/monitoring"}, []string{monitoring}},
		"with cert-manager and all else": {
			[]string{"overlays/cert-manager", "policies", "guard", "components/monitoring"}, []string{certManager, guard, monitoring},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			want := alike(t, kustomize(t, c.folders...))
			// Helm makes the namespace of a release, or finds it there.
			delete(want, "Namespace/"+system)
			if diff := cmp.Diff(want, alike(t, chart(t, c.values...))); diff != "" {
				t.Errorf("-overlay +chart:\n%s", diff)
			}
		})
	}
}

// ofHelm are the labels that objects of a chart have on top of those that all have.
var ofHelm = []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "app.kubernetes.io/version", "helm.sh/chart"}

// hashed is the name of the config map, which in an overlay ends in a hash. In the chart a checksum replaces the pods.
var hashed = regexp.MustCompile(`^handoff-webhook-config-[a-z0-9]{10}$`)

const (
	configuration = "handoff-webhook-config"
	checksum      = "checksum/config"
)

// alike takes out what the overlays and the chart cannot have in common, and nothing else.
func alike(t *testing.T, all objects) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	for _, o := range all {
		labels := o.GetLabels()
		maps.DeleteFunc(labels, func(name, _ string) bool { return strings.Contains(strings.Join(ofHelm, " "), name) })
		o.SetLabels(labels)
		if hashed.MatchString(o.GetName()) {
			o.SetName(configuration)
		}
		switch o.GetKind() {
		case "Deployment":
			sameVolume(t, o)
			unstructured.RemoveNestedField(o.Object, "spec", "template", "metadata", "annotations", checksum)
			if rest, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "metadata", "annotations"); len(rest) == 0 {
				unstructured.RemoveNestedField(o.Object, "spec", "template", "metadata", "annotations")
			}
		case "ConfigMap":
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

// sameVolume makes the volume of the configuration lead to the config map's name without the hash.
func sameVolume(t *testing.T, deployment *unstructured.Unstructured) {
	t.Helper()
	volumes, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "volumes")
	if err != nil {
		t.Fatal(err)
	}
	for _, volume := range volumes {
		volume, _ := volume.(map[string]any)
		name, found, _ := unstructured.NestedString(volume, "configMap", "name")
		if !found || !hashed.MatchString(name) {
			continue
		}
		if err := unstructured.SetNestedField(volume, configuration, "configMap", "name"); err != nil {
			t.Fatal(err)
		}
	}
	if err := unstructured.SetNestedSlice(deployment.Object, volumes, "spec", "template", "spec", "volumes"); err != nil {
		t.Fatal(err)
	}
}

// sameContent decodes the files of a config map: comments and spaces may differ.
func sameContent(t *testing.T, configMap *unstructured.Unstructured) {
	t.Helper()
	files, _, err := unstructured.NestedStringMap(configMap.Object, "data")
	if err != nil {
		t.Fatal(err)
	}
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
