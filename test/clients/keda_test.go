package clients_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/util/cert"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// startKEDA starts KEDA's operator.
func startKEDA() error {
	if err := installCRDs("keda-operator", "scaledobjects.keda.sh"); err != nil {
		return err
	}
	p := suite.cluster.Plane
	dir := filepath.Join(p.Dir, "keda-certs")
	chain, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"tls.crt": chain, "ca.crt": chain, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	ports, err := process.FreePorts(3)
	if err != nil {
		return err
	}
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	_, err = process.Start(filepath.Join(p.Dir, "keda-operator.log"), "/usr/bin/env",
		"KUBECONFIG="+p.Kubeconfig, "POD_NAMESPACE=default", "WATCH_NAMESPACE=", binary("keda-operator"),
		"--metrics-bind-address="+address(0), "--health-probe-bind-address="+address(1), "--metrics-service-bind-address="+address(2),
		"--cert-dir="+dir, "--enable-webhook-patching=false", "--enable-apiservice-patching=false", "--kubeconfig="+p.Kubeconfig)
	return err
}

// scaledObject is paused at a count, which KEDA's operator then writes itself. It polls again after an hour, and so leaves what
// an apply writes.
const scaledObject = `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: web
  annotations: {autoscaling.keda.sh/paused-replicas: "%s"}
spec:
  scaleTargetRef: {name: web}
  pollingInterval: 3600
  triggers:
  - {type: cron, metadata: {timezone: UTC, start: 0 0 1 1 *, end: 1 0 1 1 *, desiredReplicas: "1"}}
`

// keda returns KEDA with a ScaledObject that is paused at a count.
func keda(count string) *scaler {
	return &scaler{
		name: "KEDA, a ScaledObject paused at " + count, by: "keda-operator", to: count,
		scale: func(n *namespace) {
			n.Helper()
			if err := suite.keda(); err != nil {
				n.Fatal(err)
			}
			n.kubectl(fmt.Sprintf(scaledObject, count), "apply", "-f", "-")
			n.eventually("KEDA scales to "+count, func() bool { return strconv.Itoa(int(n.replicas())) == count })
		},
		remove: func(n *namespace) {
			n.Helper()
			n.remove(object("keda.sh/v1alpha1", "ScaledObject"))
		},
	}
}
