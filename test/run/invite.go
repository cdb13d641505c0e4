package main

import (
	"fmt"
	"path/filepath"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// invitation is a format string for a kubeconfig, the folder of kubectl and a manifest with replicas: 3.
const invitation = `
handoff is running on a real control plane without nodes, and is enabled in namespace demo. In another terminal:

  export KUBECONFIG="%[1]s"
  export PATH="%[2]s:$PATH"
  manifest="%[3]s"

Let an autoscaler scale a Deployment from 3 replicas to 7 (without nodes, --min stands for load):

  kubectl -n demo apply -f "$manifest"
  kubectl -n demo autoscale deployment web --min=7 --max=20
  kubectl -n demo wait --for=jsonpath='{.spec.replicas}'=7 deployment web

Run applies that would cause outages without handoff, and see who owns replicas:

  kubectl -n demo apply -f "$manifest"
  grep -v replicas: "$manifest" | kubectl -n demo apply -f -
  kubectl -n demo get deployment web -o yaml --show-managed-fields
  kubectl -n demo get events --field-selector reason=OwnershipKept

Compare with handoff disabled (off) or only warning (warn); enforce enables it again:

  kubectl annotate --overwrite namespace demo ownership-handoff.io/mode=off

Ctrl-C in this terminal stops everything and leaves nothing behind. The webhook's log follows.

`

func invite(controlPlane *controlplane.ControlPlane, manifest string) {
	fmt.Printf(invitation, controlPlane.Kubeconfig, filepath.Dir(controlPlane.Kubectl), manifest)
}
