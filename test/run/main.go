// Command run starts a real control plane with the webhook, to try it out until Ctrl-C.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

func main() { handofftest.MainWithCluster("run", run) }

func run(ctx context.Context, root string, cluster *handofftest.Cluster) error {
	if err := cluster.Webhook.Register(ctx); err != nil {
		return err
	}
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: demo, annotations: {ownership-handoff.io/mode: enforce}}}"
	if created := process.Run(ctx, nil, namespace, cluster.Plane.Kubectl, "create", "-f", "-"); created.Err != nil {
		return created.Err
	}
	fmt.Printf(invitation, cluster.Plane.Kubeconfig, filepath.Dir(cluster.Plane.Kubectl), filepath.Join(root, "test", "demo", "web.yaml"))
	// Print new lines of the log until Ctrl-C, or the end of the parent process: one that is killed does not signal its child, which
	// would keep the cluster running forever.
	parent, seen := os.Getppid(), cluster.Webhook.Log()
	_ = wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(context.Context) (done bool, _ error) {
		log := cluster.Webhook.Log()
		fmt.Fprint(os.Stderr, strings.TrimPrefix(log, seen))
		seen = log
		return os.Getppid() != parent, nil
	})
	fmt.Fprintln(os.Stderr, "run: shutting down")
	return nil
}

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
