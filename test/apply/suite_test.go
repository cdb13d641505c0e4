// Package apply compares threeway.Merge with kubectl apply: for each edit of a manifest, the merge must return the object that
// kubectl apply stores on a real API server. The tests use no webhook.
package apply_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/objects"
)

// controlPlane is shared by the tests, which run in parallel, each in its own namespace.
var controlPlane struct {
	started *controlplane.ControlPlane
	client  client.Client
}

// TestMain starts a control plane without controllers, so that nothing else writes between two writes of a test.
func TestMain(m *testing.M) {
	options := controlplane.Options{Output: os.Stderr, WithoutControllerManager: true}
	os.Exit(controlplane.Main(m.Run, os.Stderr, options, prepare))
}

func prepare(ctx context.Context, started *controlplane.ControlPlane) (err error) {
	controlPlane.started = started
	config := rest.CopyConfig(controlPlane.started.Config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	if controlPlane.client, err = client.New(config, client.Options{}); err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	if err := kubectl(ctx, objects.CRD("apply.example.com", "Gadget", gadgets), "apply", "-f", "-"); err != nil {
		return err
	}
	return kubectl(ctx, "", "wait", "--for=condition=Established", "crd/gadgets.apply.example.com", "--timeout=60s")
}

// gadgets is the version of a CRD with lists of every type. kubectl apply ignores these types: it has no Go type for the kind, and sends a JSON
// merge patch.
const gadgets = `
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 1}
              ratio: {type: number}
              labels: {type: object, additionalProperties: {type: string}}
              selector: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
              hosts: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              args: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
              listeners:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port]
                items:
                  type: object
                  required: [port]
                  properties: {port: {type: integer}, name: {type: string}, protocol: {type: string, default: TCP}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// kubectl runs a command.
func kubectl(ctx context.Context, stdin string, args ...string) error {
	cmd := exec.CommandContext(ctx, controlPlane.started.Kubectl, args...)
	cmd.Stdin = strings.NewReader(stdin)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}
