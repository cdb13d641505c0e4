#!/bin/sh
# Runs the suites that are about what an API server or kubectl does on versions of Kubernetes that make has built, and prints how
# many tests passed, which were skipped and which failed:
#
#	run.sh 1.30 1.36:1.34
#
# 1.36:1.34 is a control plane of 1.36 with the kubectl of 1.34. RUN=PATTERN selects tests. bin/versions has the output, with the
# reason of each skipped test.
set -eu
cd "$(dirname "$0")/../.."
suites='./test/controlplane ./test/e2e ./test/sequences ./test/plugin ./test/manifests ./webhook/cluster'

# built prints the folder in which make builds a version: that of the newest one has no number.
built() {
	if [ -d "bin/controlplane-$1" ]; then echo "$PWD/bin/controlplane-$1"; else echo "$PWD/bin/controlplane"; fi
}

status=0
for version; do
	binaries=$PWD/bin/versions/$(echo "$version" | tr : -)
	log=$binaries.log
	rm -rf "$binaries"
	mkdir -p "$binaries"
	ln -s "$(built "${version%:*}")"/* "$binaries"
	ln -sf "$(built "${version#*:}")/kubectl" "$binaries/kubectl"
	"$binaries/kube-apiserver" --version
	"$binaries/kubectl" version --client
	# shellcheck disable=SC2086 # a list
	CONTROLPLANE_BIN=$binaries go test -v -count=1 -timeout 30m -parallel 8 -run "${RUN:-.}" $suites >"$log" 2>&1 || status=1
	echo "versions: $version: $(grep -c '^--- PASS' "$log" || true) tests passed; $log"
	grep -E '^--- SKIP|^ *--- FAIL|^FAIL|^panic: ' "$log" || true
done
exit $status
