package optin_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// TestAllNamespacesCanBeReviewed installs handoff without the label, as manifests/components/all-namespaces does.
func TestAllNamespacesCanBeReviewed(t *testing.T) {
	if err := cluster.webhook.Unregister(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cluster.webhook.Stop(); err != nil {
		t.Fatal(err)
	}
	name := newNamespace(t)
	kubectl(t, "", "annotate", "namespace", name, mode+"=enforce")
	dir := filepath.Join(cluster.plane.Dir, "all-namespaces")
	relative := func(path string) string {
		t.Helper()
		from, err := filepath.Rel(dir, filepath.Join(cluster.root, "manifests", path))
		if err != nil {
			t.Fatal(err)
		}
		return from
	}
	text := "resources: [" + relative("base") + "]\ncomponents: [" + relative("components/all-namespaces") + "]\n"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	cluster.webhook, err = handofftest.Start(t.Context(), cluster.plane, handofftest.Options{
		Kubeconfig: cluster.kubeconfig, Manifests: dir, Args: []string{"--label-namespaces=false"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.webhook.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{name, newNamespace(t)} {
		if diff := cmp.Diff(written(byNamespace), play(t, namespace, "")); diff != "" {
			t.Errorf("the API server's calls (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(written(""), play(t, name, mode+`: "off"`)); diff != "" {
		t.Errorf("the API server's calls for objects in mode off (-want +got):\n%s", diff)
	}
	if got := label(get(t, name)); got != "none" {
		t.Errorf("the namespace has the label %s", got)
	}
	if got := metric(t, "handoff_stale_namespace_labels"); got != "" {
		t.Errorf("the metric of labels is %s", got)
	}
	if err := cluster.webhook.Stop(); err != nil {
		t.Error(err)
	}
	again(t)
	if got := label(get(t, name)); got != "enforce" {
		t.Errorf("after a change to the default, the namespace has the label %s", got)
	}
}
