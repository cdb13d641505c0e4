package manifests_test

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// TestInstallingAgainKeepsTheCABundle verifies that an upgrade does not remove the CA bundle that handoff or cert-manager wrote.
// Otherwise the API server could not call the webhook until the CA bundle is written again.
func TestInstallingAgainKeepsTheCABundle(t *testing.T) {
	folder := filepath.Join(cluster.root, "manifests")
	throughHelm := func(t *testing.T, verb string, args ...string) {
		t.Helper()
		args = append([]string{verb, "handoff", "--namespace", system, "--kubeconfig", cluster.controlPlane.Kubeconfig}, args...)
		expect.NoError(t, helm(t, args...).Err)
	}
	for sentence, c := range map[string]struct{ install, again, remove func(*testing.T) }{
		"by kubectl": {
			install: func(t *testing.T) {
				t.Helper()
				kubectl(t, "", "apply", "-k", filepath.Join(folder, "overlays", "self-signed"))
			},
			again: func(t *testing.T) {
				t.Helper()
				kubectl(t, "", "apply", "-k", filepath.Join(folder, "overlays", "default"))
			},
			remove: func(t *testing.T) {
				t.Helper()
				all := kustomize(t, "overlays/default")
				delete(all, "Namespace/"+system)
				kubectl(t, all.text(t), "delete", "-f-")
			},
		},
		"by Helm": {
			install: func(t *testing.T) { t.Helper(); throughHelm(t, "install", filepath.Join(folder, "chart")) },
			again: func(t *testing.T) {
				t.Helper()
				throughHelm(t, "upgrade", filepath.Join(folder, "chart"), "--set", "webhook.timeoutSeconds=3")
			},
			remove: func(t *testing.T) { t.Helper(); throughHelm(t, "uninstall") },
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.install(t)
			want := base64.StdEncoding.EncodeToString(cluster.controlPlane.Config.CAData)
			operation := func(webhook int) string {
				return fmt.Sprintf(`{"op": "add", "path": "/webhooks/%d/clientConfig/caBundle", "value": %q}`, webhook, want)
			}
			patch := "[" + operation(0) + "," + operation(1) + "," + operation(2) + "]"
			kubectl(t, "", "patch", "mutatingwebhookconfiguration", "handoff", "--type=json", "-p", patch)
			c.again(t)
			got := kubectl(t, "", "get", "mutatingwebhookconfiguration", "handoff", "-o", "jsonpath={.webhooks[*].clientConfig.caBundle}").Stdout
			if want := strings.Join([]string{want, want, want}, " "); got != want {
				t.Errorf("the caBundles have %d characters, want %d", len(got), len(want))
			}
			c.remove(t)
		})
	}
}
