package main

import (
	"fmt"
	"path/filepath"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// invitation takes kubeconfig, the folder of kubectl and a manifest with replicas: 3.
const invitation = `
handoff is running on a real control plane without nodes. Namespace demo has opted in. In another terminal:

  export KUBECONFIG="%[1]s"
  export PATH="%[2]s:$PATH"
  manifest="%[3]s"

Let an autoscaler take a Deployment from 3 replicas to 7 (without nodes, --min stands for the load):

  kubectl -n demo apply -f "$manifest"
  kubectl -n demo autoscale deployment web --min=7 --max=20
  kubectl -n demo wait --for=jsonpath='{.spec.replicas}'=7 deployment web

Then apply what would be outages without handoff, and see who owns replicas:

  kubectl -n demo apply -f "$manifest"
  grep -v replicas: "$manifest" | kubectl -n demo apply -f -
  kubectl -n demo get deployment web -o yaml --show-managed-fields
  kubectl -n demo get events --field-selector reason=OwnershipKept

Compare with handoff off, or only warning (warn); enforce switches it on again:

  kubectl annotate --overwrite namespace demo ownership-handoff.io/mode=off

Ctrl-C here ends all of it and leaves nothing behind. What the webhook logs follows.

`

func invite(plane *controlplane.Plane, manifest string) {
	fmt.Printf(invitation, plane.Kubeconfig, filepath.Dir(plane.Kubectl), manifest)
}
