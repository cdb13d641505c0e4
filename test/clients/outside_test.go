package clients_test

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// converted is a CustomResourceDefinition that a client applies, whose conversion webhook has a CA that the cainjector injects.
type converted struct {
	n *namespace
	// ca is the field in the manifest, empty if the manifest lacks it.
	ca         string
	generation int
}

func (c converted) name() string { return "things." + c.n.name + ".example.com" }

func (c converted) String() string {
	label := ""
	if c.n.handoff {
		label = "ownership-handoff.io/mode: enforce"
	}
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %s
  labels: {%s}
  annotations:
    ownership-handoff.io/controller-fields: .spec.conversion.webhook.clientConfig.caBundle
    cert-manager.io/inject-ca-from-secret: %s/ca
    generation: "%d"
spec:
  group: %[3]s.example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {%[5]sservice: {name: converter, namespace: default}}}
`, c.name(), label, c.n.name, c.generation, c.ca)
}

// TestClientsKeepTheBundleOfTheInjector watches a CustomResourceDefinition during applies of clients that test/e2e does not play, beside
// cert-manager's cainjector. Without handoff, the watch sees the CA bundle of the manifest.
func TestClientsKeepTheBundleOfTheInjector(t *testing.T) { //nolint:tparallel // the cainjector stops after the subtests
	t.Parallel()
	playable(t, "kubectl", false)
	certmanager := filepath.Join(suite.root, "bin", "certmanager")
	n := newNamespace(t, false)
	n.kubectl("", "apply", "--server-side", "-f", certmanager+"-crds.yaml")
	n.kubectl("", "wait", "--for=condition=Established", "--timeout=60s", "-f", certmanager+"-crds.yaml")
	injector, err := process.Start(filepath.Join(n.dir, "certmanager.log"), certmanager, "--kubeconfig="+suite.cluster.Plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = injector.Stop(5 * time.Second) })
	t.Run("clients", func(t *testing.T) { // ends before the cainjector
		for _, by := range []*applier{
			flux(), helm("Helm 3", helmRun{program: "helm"}),
			helm("Helm 4, --force-conflicts", helmRun{program: "helm4", flags: []string{"--force-conflicts"}}),
			helm("Helm 4, --server-side=false", helmRun{program: "helm4", flags: []string{"--server-side=false"}}),
		} {
			for _, handoff := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, handoff=%t", by.name, handoff), func(t *testing.T) {
					t.Parallel()
					playable(t, by.by, false)
					playConverted(newNamespace(t, handoff), by)
				})
			}
		}
	})
}

func playConverted(n *namespace, by *applier) {
	n.Helper()
	ca, _, err := cert.GenerateSelfSignedCertKey("server", nil, nil)
	n.must(err)
	n.kubectl(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"ca","annotations":{"cert-manager.io/allow-direct-injection":"true"}},"data":{"ca.crt":"`+
		base64.StdEncoding.EncodeToString(ca)+`"}}`, "apply", "-f", "-")
	manifest := converted{n: n}
	n.must(by.create(n, manifest))
	const bundle = `CA={.spec.conversion.webhook.clientConfig.caBundle}{"\n"}`
	n.eventually("the cainjector writes the bundle", func() bool {
		return len(n.kubectl("", "get", "crd", manifest.name(), "-o", "jsonpath="+bundle)) > 100
	})
	seen := n.watched("crd/"+manifest.name(), bundle)
	for manifest.generation = 1; manifest.generation <= 8; manifest.generation++ {
		manifest.ca = []string{"", "caBundle: Cg==, "}[manifest.generation/2%2] // each is applied twice
		n.must(by.apply(n, manifest))
	}
	time.Sleep(time.Second) // until the watch has seen everything
	isLost := slices.ContainsFunc(seen(), func(line string) bool { return len(line) < 100 })
	if isLost == n.handoff {
		n.Errorf("want the bundle lost: %t, got %t: %s", !n.handoff, isLost, strings.Join(seen(), "\n"))
	}
}
