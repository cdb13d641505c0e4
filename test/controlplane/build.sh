#!/bin/sh
# Builds one component of the control plane, in the version from parts/go.mod or, if the directory's name ends with a minor
# version, from versions/1.30/go.mod: build.sh bin/controlplane/COMPONENT, build.sh bin/controlplane-1.30/COMPONENT
set -eu

target=$1
part=${target##*/}
case $part in
etcd) module=go.etcd.io/etcd/server/v3 package=$module ;;
kube-apiserver | kube-controller-manager | kubectl) module=k8s.io/kubernetes package=$module/cmd/$part ;;
*) echo "controlplane: unknown component $part" >&2 && exit 2 ;;
esac

# The file is renamed when it is complete, so that an interrupted build leaves no incomplete binary.
mkdir -p "$(dirname "$target")"
directory=$(cd "$(dirname "$target")" && pwd)
unfinished=$directory/.$part.$$
trap 'rm -f "$unfinished" "$unfinished.log"' EXIT
trap 'exit 1' HUP INT TERM

cd "$(dirname "$0")"
case ${directory##*/} in
*-1.*) folder=versions/${directory##*-} ;;
*) folder=parts ;;
esac
if ! [ -f "$folder/go.mod" ]; then
	echo "controlplane: no test/controlplane/$folder; write it with test/controlplane/require.sh ${folder#*/}.PATCH" >&2
	exit 1
fi
cd "$folder"
version=$(go list -m -f '{{.Version}}' "$module")

# Kubernetes takes its version from the linker. Without one, servers report v0.0.0, and clients refuse to work.
number=${version#v}
minor=${number#*.}
stamp=
for variable in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
	stamp="$stamp -X $variable.gitVersion=$version -X $variable.gitMajor=${number%%.*} -X $variable.gitMinor=${minor%%.*}"
done
case $module in go.etcd.io/*) stamp= ;; esac

printf 'controlplane: %s %s ... ' "$part" "$version"
began=$(date +%s)
# Without the cloud providers that 1.30 still contains, which are large. Later versions do not know the tag.
if ! CGO_ENABLED=0 go build -tags providerless -ldflags "-s -w$stamp" -o "$unfinished" "$package" >"$unfinished.log" 2>&1; then
	echo failed
	cat "$unfinished.log" >&2
	exit 1
fi
mv "$unfinished" "$directory/$part"
echo "$(($(date +%s) - began)) s"
