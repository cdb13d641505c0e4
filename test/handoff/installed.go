package handofftest

import (
	"context"
	"fmt"
	"strings"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// The names and labels of an installation, as in manifests/base.
const (
	Namespace  = "handoff-system"
	Deployment = "handoff-webhook"
	Selector   = "app.kubernetes.io/name=handoff,app.kubernetes.io/component=webhook"
)

// Installed is a webhook that runs in pods of its cluster.
type Installed struct{ controlPlane *controlplane.ControlPlane }

// InCluster waits until the webhook that is installed in a cluster is available, and returns it.
func InCluster(ctx context.Context, controlPlane *controlplane.ControlPlane) (*Installed, error) {
	w := &Installed{controlPlane: controlPlane}
	if _, err := w.kubectl(ctx, "rollout", "status", "deployment/"+Deployment, "--timeout=3m"); err != nil {
		log := w.Log() //nolint:contextcheck // the log is most useful after the context has ended
		return nil, fmt.Errorf("waiting for the webhook in the cluster: %w\n%s", err, log)
	}
	return w, nil
}

// Metrics returns the concatenated metrics of all pods.
func (w *Installed) Metrics(ctx context.Context) (string, error) {
	pods, err := w.kubectl(ctx, "get", "pods", "--selector="+Selector, "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for pod := range strings.FieldsSeq(pods) {
		text, err := w.kubectl(ctx, "get", "--raw", "/api/v1/namespaces/"+Namespace+"/pods/"+pod+":8080/proxy/metrics")
		if err != nil {
			return "", err
		}
		all.WriteString(text)
	}
	return all.String(), nil
}

// Log returns the end of the pods' logs.
func (w *Installed) Log() string {
	log, err := w.kubectl(context.Background(), "logs", "--selector="+Selector, "--tail=50", "--prefix")
	if err != nil {
		return err.Error()
	}
	return log
}

func (w *Installed) kubectl(ctx context.Context, args ...string) (string, error) {
	r := process.Run(ctx, nil, "", w.controlPlane.Kubectl, append([]string{"--namespace", Namespace}, args...)...)
	return r.Stdout, r.Err
}
