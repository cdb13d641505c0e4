package clients_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

func installKEDA() error { return installCRDs("keda-operator", "scaledobjects.keda.sh") }

// operateKEDA runs KEDA's operator for the objects of the namespace while the function runs. Later, it would scale again after
// each apply without handoff.
func (n *namespace) operateKEDA(during func()) {
	n.Helper()
	expect.NoError(n, suite.keda())
	// Nobody calls the operator's metrics service: without KEDA's metrics, the HorizontalPodAutoscaler obeys its minimum and maximum, and
	// leaves any value between as an apply sets it.
	certificates := n.TempDir()
	ca, err := handofftest.WriteCertificate(certificates)
	expect.NoError(n, err)
	expect.NoError(n, os.WriteFile(filepath.Join(certificates, "ca.crt"), ca, 0o600))
	ports, err := process.FreePorts(3)
	expect.NoError(n, err)
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	operator := n.start("keda-operator", []string{"WATCH_NAMESPACE=" + n.name, "KEDA_CLUSTER_OBJECT_NAMESPACE=" + n.name},
		"--kubeconfig="+suite.cluster.Plane.Kubeconfig, "--metrics-bind-address="+address(0),
		"--health-probe-bind-address="+address(1), "--metrics-service-bind-address="+address(2), "--cert-dir="+certificates,
		"--enable-webhook-patching=false", "--enable-apiservice-patching=false")
	ctx, cancel := context.WithTimeout(n.Context(), patience)
	defer cancel()
	expect.NoError(n, operator.WaitHealthy(ctx, "http://"+address(1)+"/healthz"))
	during()
	n.stop(operator)
}

// scaledObject scales Deployment/web. Its trigger is active while pods of the queue exist.
const scaledObject = `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web, annotations: {%s}}
spec:
  scaleTargetRef: {name: web}
  pollingInterval: 1
  cooldownPeriod: 1
  maxReplicaCount: 20
  triggers:
  - {type: kubernetes-workload, metadata: {podSelector: app=queue, value: "1"}}
`

const queue = `
apiVersion: v1
kind: Pod
metadata: {name: queue, labels: {app: queue}}
spec:
  schedulerName: nobody
  containers: [{name: app, image: app:1}]
`

// keda returns KEDA with a ScaledObject, which its operator acts on until it has scaled to a count.
func keda(description, to string, scale func(n *namespace)) *scaler {
	return &scaler{
		name: "KEDA, a ScaledObject " + description, by: "keda-operator", to: to,
		scale: func(n *namespace) {
			n.Helper()
			n.operateKEDA(func() { scale(n) })
			n.known(true)
		},
		remove: func(n *namespace) {
			n.Helper()
			n.operateKEDA(func() { n.remove(object("keda.sh/v1alpha1", "ScaledObject")) })
			hpa := &autoscalingv2.HorizontalPodAutoscaler{}
			n.eventually("its HorizontalPodAutoscaler is deleted", func() bool {
				return apierrors.IsNotFound(suite.api.Get(n.Context(), client.ObjectKey{Namespace: n.name, Name: "keda-hpa-web"}, hpa))
			})
			n.known(false)
		},
	}
}

func (n *namespace) scaledTo(count int32, by string) {
	n.Helper()
	n.eventually(fmt.Sprintf("%s scales to %d", by, count), func() bool { return n.replicas() == count })
}

// pausedKEDA returns KEDA with a ScaledObject that is paused at a count, which the operator sets itself.
func pausedKEDA(count int32) *scaler {
	text := strconv.Itoa(int(count))
	return keda("paused at "+text, text, func(n *namespace) {
		n.Helper()
		n.kubectl(fmt.Sprintf(scaledObject, `autoscaling.keda.sh/paused-replicas: "`+text+`"`), "apply", "-f", "-")
		n.scaledTo(count, "KEDA")
	})
}

// activated creates a ScaledObject, and then what makes its trigger active: the operator scales to 0 and 1.
func (n *namespace) activated() {
	n.Helper()
	n.kubectl(fmt.Sprintf(scaledObject, ""), "apply", "-f", "-")
	n.scaledTo(0, "KEDA")
	n.kubectl(queue, "apply", "-f", "-")
	n.scaledTo(1, "KEDA")
}

// inactiveKEDA returns KEDA with a ScaledObject whose trigger has been active in between: the operator scales to 0, 1 and 0.
func inactiveKEDA() *scaler {
	return keda("whose trigger is inactive", "0", func(n *namespace) {
		n.Helper()
		n.activated()
		n.kubectl("", "delete", "pod", "queue", "--force")
		n.scaledTo(0, "KEDA")
	})
}

// activeKEDA returns KEDA with a ScaledObject whose trigger has become active: the operator scales to 0 and 1, and its
// HorizontalPodAutoscaler to 9 and 7.
func activeKEDA() *scaler {
	return keda("whose trigger is active", "7", func(n *namespace) {
		n.Helper()
		n.activated()
		n.kubectl("", "patch", "scaledobject", "web", "--type=merge", "-p", `{"spec":{"minReplicaCount":9}}`)
		n.scaledTo(9, "the HPA controller")
		n.kubectl("", "patch", "scaledobject", "web", "--type=merge", "-p", `{"spec":{"minReplicaCount":1,"maxReplicaCount":7}}`)
		n.scaledTo(7, "the HPA controller")
	})
}
