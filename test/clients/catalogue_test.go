package clients_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/objects"
	"github.com/ownership-handoff/handoff/test/packs"
)

// manifests is what a client applies: objects of several kinds.
type manifests []*unstructured.Unstructured

func (m manifests) String() string {
	var b strings.Builder
	for _, o := range m {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			panic(err) // it was read from YAML
		}
		fmt.Fprintf(&b, "---\n%s", text)
	}
	return b.String()
}

// allPacks writes a configuration with all packs of the catalogue.
func allPacks(folder string) (file string, err error) {
	file = filepath.Join(folder, "packs.yaml")
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\npacks: [%s]\n", config.APIVersion, config.Kind, strings.Join(config.Packs(), ", "))
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// installKinds installs the kinds of the catalogue that the API server does not serve, after those of the programs that are played.
func installKinds() error {
	if suite.all {
		for _, install := range []func() error{suite.argocd, suite.keda, suite.rollouts} {
			if err := install(); err != nil {
				return err
			}
		}
	}
	if err := suite.istio(); err != nil { // another test can install it at the same time
		return err
	}
	all, err := packs.Read(suite.root)
	if err != nil {
		return err
	}
	for name, crd := range packs.Missing(suite.api.RESTMapper(), all) {
		if err := install(crd, name); err != nil {
			return err
		}
	}
	return nil
}

// TestEveryClientKeepsTheCatalogue plays the catalogue with each client. Without handoff, fields lose what their controllers have written. The
// exceptions are those of docs/clients.md.
func TestEveryClientKeepsTheCatalogue(t *testing.T) {
	t.Parallel()
	for _, by := range appliers() {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			playable(t, by.by, by.ci)
			without := newNamespace(t, false).catalogue(by)
			with := newNamespace(t, true).catalogue(by)
			isLost, isKept := len(without) > 0, len(with) == 0
			switch by.name {
			case "Helm 4, as it comes": // conflicts with the controllers before any webhook is called
				isLost = !isLost
			case "Ansible, without `apply`": // sends no apply
				isKept = slices.Equal(with, without)
			case "Argo CD, `Replace=true`": // names no field manager
				isKept = !slices.ContainsFunc(with, func(l loss) bool { return l.isSet })
			}
			if !isLost || !isKept {
				t.Errorf("lost without handoff: %v; with it: %v", without, with)
			}
		})
	}
}

// loss is an entry of the catalogue whose field has lost the value of its controller. isSet reports whether the manifest sets the field.
type loss struct {
	entry string
	isSet bool
}

// catalogue applies all manifests of the catalogue, plays the writes of their controllers, and applies the manifests again.
func (n *namespace) catalogue(by *applier) (lost []loss) {
	n.Helper()
	expect.NoError(n, suite.kinds())
	all, err := packs.Read(suite.root)
	expect.NoError(n, err)
	if by.replaces { // as the test of the catalogue shows, the API server accepts no Job without the labels that it has added
		all = slices.DeleteFunc(all, func(e *packs.Entry) bool { return e.Manifest["kind"] == "Job" })
	}
	applied := make(manifests, len(all))
	for i, e := range all {
		applied[i], _, err = e.In(suite.api, n.name, map[bool]string{false: "off", true: "enforce"}[n.handoff])
		expect.NoError(n, err)
	}
	expect.NoError(n, by.create(n, applied))
	for i, e := range all {
		for _, w := range e.Writes {
			expect.NoError(n, w.Play(n.Context(), suite.api, applied[i]))
		}
	}
	if err := by.apply(n, applied); err != nil && (by.name != "Helm 4, as it comes" || !strings.Contains(err.Error(), "conflict with")) {
		n.Fatal(err)
	}
	for i, e := range all {
		o, err := packs.Live(n.Context(), suite.api, applied[i])
		expect.NoError(n, err)
		if objects.JSONPath(n.T, o, e.Field) != e.Kept {
			lost = append(lost, loss{e.Rule + ": " + e.Entry, objects.JSONPath(n.T, applied[i], e.Field) != ""})
		}
	}
	return lost
}
