#!/bin/sh
# kubectl as the administrator of this plane alone: it knows no other cluster, reads no preferences of the person who
# runs it, and keeps its cache here. Through the environment and not as flags, so that plugins get it as well.
plane=${0%/bin/kubectl}
export KUBECONFIG="$plane/kubeconfig" KUBECACHEDIR="$plane/kubectl-cache" KUBERC=off
exec "$plane/kubectl" "$@"
