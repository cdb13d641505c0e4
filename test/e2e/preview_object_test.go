package e2e_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/preview"
)

// scaledSince reports whether an autoscaler has scaled an object after the preview. If the apply keeps the replicas, their value
// shows this; otherwise, the autoscaler's managedFields entry does.
func (f *previewed) scaledSince(p *preview.Preview, now []byte) bool {
	f.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(now); err != nil {
		f.Fatal(err)
	}
	path := fieldpath.MakePathOrDie("spec", "replicas")
	stored, err := ownership.ParseObject(now)
	if err != nil {
		f.Fatal(err)
	}
	other := p.Mode != ownership.ModeEnforce || !bytes.Equal(stored.Value(path), p.Subject.Object.Value(path))
	managers := fieldManagers(f.T, o, path)
	scaled := slices.Contains(managers, "kube-controller-manager/Update/scale") ||
		len(managers) == 0 && string(stored.Value(path)) == "0" // a /scale to 0 leaves no entry
	return p.Subject.Object.Present() && other && scaled
}

// applied returns an object without the fields that the API server and its controllers set.
func (f *previewed) applied(p *preview.Preview, text []byte) map[string]any {
	f.Helper()
	var o map[string]any
	if uid := regexp.MustCompile(`"uid": ?"([^"]+)"`).FindSubmatch(text); uid != nil {
		text = bytes.ReplaceAll(text, uid[1], []byte("UID")) // the labels of a Job contain the UID
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		f.Fatal(err, string(text))
	}
	for _, name := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
		unstructured.RemoveNestedField(o, "metadata", name)
	}
	if len(p.Subject.Gaps) > 0 { // kubectl migrates the managedFields of client-side applies, including those of last-applied
		unstructured.RemoveNestedField(o, "metadata", "annotations", ownership.LastAppliedAnnotation)
	}
	for _, name := range []string{
		"deployment.kubernetes.io/revision",
		"autoscaling.alpha.kubernetes.io/conditions", "autoscaling.alpha.kubernetes.io/current-metrics", // status in autoscaling/v1
	} {
		unstructured.RemoveNestedField(o, "metadata", "annotations", name)
	}
	if annotations, _, err := unstructured.NestedMap(o, "metadata", "annotations"); err == nil && len(annotations) == 0 {
		unstructured.RemoveNestedField(o, "metadata", "annotations")
	}
	delete(o, "status")
	switch o["kind"] {
	case "Service":
		withoutAllocated(o)
	case "MutatingWebhookConfiguration": // the webhook under test writes its CA bundle
		hooks, _, _ := unstructured.NestedSlice(o, "webhooks")
		for _, hook := range hooks {
			if hook, ok := hook.(map[string]any); ok {
				unstructured.RemoveNestedField(hook, "clientConfig", "caBundle")
			}
		}
		_ = unstructured.SetNestedSlice(o, hooks, "webhooks")
	}
	return o
}

// withoutAllocated removes the fields that the API server allocates.
func withoutAllocated(service map[string]any) {
	for _, name := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
		if ip, _, _ := unstructured.NestedString(service, "spec", name); ip != "None" && ip != "" || name != "clusterIP" {
			unstructured.RemoveNestedField(service, "spec", name)
		}
	}
	ports, _, _ := unstructured.NestedSlice(service, "spec", "ports")
	for _, port := range ports {
		if port, ok := port.(map[string]any); ok {
			delete(port, "nodePort")
		}
	}
	_ = unstructured.SetNestedSlice(service, ports, "spec", "ports")
}
