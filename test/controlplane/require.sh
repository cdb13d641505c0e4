#!/bin/sh
# Writes go.mod and go.sum of a folder from which build.sh builds a control plane:
#
#	require.sh 1.30.14         versions/1.30, the newest patch release of an older minor version
#	require.sh 1.36.3 parts    parts, the newest minor version and the etcd of all versions
#
# k8s.io/kubernetes cannot be required alone: it requires its staging modules as v0.0.0, and replaces them by folders that its
# module does not contain. The published modules, v0.30.14 for 1.30.14, take their place. Everything else has the version that
# Kubernetes itself was built with.
set -eu

version=${1#v}
folder=${2:-versions/${version%.*}}
cd "$(dirname "$0")"
downloaded=$(cd / && go mod download -json "k8s.io/kubernetes@v$version") || { echo "$downloaded" >&2 && exit 1; }
kubernetes=$(printf '%s\n' "$downloaded" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')

mkdir -p "$folder"
cd "$folder"
etcd_tool='' etcd=''
if [ "$folder" = parts ]; then
	etcd_tool="	go.etcd.io/etcd/server/v3"
	etcd=$(sed -n 's|^	go.etcd.io/etcd/client/v3 \([^ ]*\).*|	go.etcd.io/etcd/server/v3 \1|p' "$kubernetes")
fi
{
	printf 'module github.com/ownership-handoff/handoff/test/controlplane/%s\n\ngo 1.26.0\n\ntool (\n%s\n' "$folder" "$etcd_tool"
	printf '\tk8s.io/kubernetes/cmd/%s\n' kube-apiserver kube-controller-manager kubectl
	printf ')\n\nrequire (\n%s\n\tk8s.io/kubernetes v%s\n)\n\nreplace (\n' "$etcd" "$version"
	sed -n "s|^	\(k8s.io/[^ ]*\) => ./staging/.*|	\1 => \1 v0.${version#*.}|p" "$kubernetes"
	printf ')\n'
} >go.mod
rm -f go.sum
go mod tidy
