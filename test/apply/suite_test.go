// Package apply compares threeway.Merge with kubectl apply: for each edit of a manifest, the merge must return the object that
// kubectl apply stores on a real API server. The tests use no webhook.
package apply_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/objects"
)

// patience is the timeout for anything that another process does.
const patience = 60 * time.Second

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
	return defineGadgets(ctx)
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

// defineGadgets installs the CRD and waits until the API server serves it.
func defineGadgets(ctx context.Context) error {
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(objects.CRD("apply.example.com", "Gadget", gadgets)), &definition.Object); err != nil {
		return fmt.Errorf("parsing the CRD: %w", err)
	}
	if err := controlPlane.client.Create(ctx, definition); err != nil {
		return fmt.Errorf("creating the CRD: %w", err)
	}
	var last error
	served := func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("apply.example.com/v1")
		list.SetKind("GadgetList")
		last = controlPlane.client.List(ctx, list)
		return last == nil, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, served); err != nil {
		return fmt.Errorf("waiting for the CRD: %w", errors.Join(err, last))
	}
	return nil
}
