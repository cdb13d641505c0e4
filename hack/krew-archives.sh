#!/bin/sh
# Builds the plugin's archives into a folder, and beside them the manifest of krew with their digests:
#   hack/krew-archives.sh FOLDER VERSION OS/ARCH...
set -eu
folder=$1 version=$2
shift 2
here=manifests/krew
mkdir -p "$folder"
sed "s|VERSION|$version|g" "$here/handoff.yaml" >"$folder/handoff.yaml"
for platform; do
	name=$(echo "$platform" | tr / -)
	program=kubectl-handoff
	case $platform in windows/*) program=kubectl-handoff.exe ;; esac
	work=$(mktemp -d)
	# Flags that are set for other builds must not change the archive.
	GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0 GOFLAGS=-trimpath GOWORK=off GOEXPERIMENT= \
		go build -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$version" -o "$work/$program" ./cmd/kubectl-handoff
	cp LICENSE "$work/"
	cp "$here/kubectl_complete-handoff" "$work/"
	# The same contents make the same archive: krew goes by its digest.
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$work" -cf - . |
		gzip -n >"$folder/kubectl-handoff-$name.tar.gz"
	rm -r "$work"
	digest=$(sha256sum "$folder/kubectl-handoff-$name.tar.gz" | cut -d ' ' -f 1)
	sed -i "s|SHA256-$name|$digest|" "$folder/handoff.yaml"
	echo "$digest  kubectl-handoff-$name.tar.gz"
done
