#!/bin/sh
# Runs kubectl as the administrator of this control plane only: without other clusters, without the user's preferences, and
# with its own cache. It sets environment variables instead of flags, so that plugins inherit them.
plane=${0%/bin/kubectl}
export KUBECONFIG="$plane/kubeconfig" KUBECACHEDIR="$plane/kubectl-cache" KUBERC=off
exec "$plane/kubectl" "$@"
