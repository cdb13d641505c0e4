package plugin_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
)

func TestEnableWritesOneAnnotation(t *testing.T) {
	before := office(t)
	checkGolden(t, "mode", transcript(t, cluster.controlPlane.Kubeconfig,
		"status office",
		"enable office --dry-run=client",
		"enable office --dry-run=server",
		"status office",
		"enable office --warn",
		"enable office --warn",
		"status office -o wide",
		"enable office -o name",
		"status -l team=office -o jsonpath={.items[*].mode}",
		"status shop office",
	))
	enabled := office(t)
	metadata(t, before)["annotations"] = map[string]any{optin.Annotation: "enforce"}
	expect.Equal(t, "enabled", before, enabled)
	checkGolden(t, "modeoff", transcript(t, cluster.controlPlane.Kubeconfig,
		"disable office --dry-run=server",
		"disable office",
		"disable office",
		"status office",
	))
	delete(metadata(t, before), "annotations")
	expect.Equal(t, "disabled", before, office(t))
}

// office returns the namespace office, without the initial annotation of kubectl apply and the resourceVersion, which each write changes.
func office(t *testing.T) map[string]any {
	t.Helper()
	play(t, "annotate namespace office "+ownership.LastAppliedAnnotation+"-")
	o, _ := jsontest.Decode(t, []byte(must(t, "get", "namespace", "office", "-o", "json"))).(map[string]any)
	delete(metadata(t, o), "resourceVersion")
	return o
}

func metadata(t *testing.T, o map[string]any) map[string]any {
	t.Helper()
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		t.Fatalf("metadata: %v", o["metadata"])
	}
	return m
}
