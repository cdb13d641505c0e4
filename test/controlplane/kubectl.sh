#!/bin/sh
# Runs kubectl as the administrator of this control plane only: without other clusters, without the user's preferences, and
# with its own cache. It sets environment variables instead of flags, so that plugins inherit them.
dir=${0%/bin/kubectl}
export KUBECONFIG="$dir/kubeconfig" KUBECACHEDIR="$dir/kubectl-cache" KUBERC=off
exec "$dir/kubectl" "$@"
