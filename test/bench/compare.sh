#!/bin/sh
# Compares the benchmarks of two commits with benchstat: those of BASE and of the working tree, in turn, so that other load on the
# machine affects both.
#
#   compare.sh BASE PACKAGE PATTERN COUNT
set -eu
base=$1 package=$2 pattern=$3 count=$4
dir=$(mktemp -d)
trap 'git worktree remove --force "$dir/base" >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
git worktree add --quiet --detach "$dir/base" "$base"
go test -C "$dir/base" -c -o "$dir/old.test" "$package"
go test -c -o "$dir/new.test" "$package"
i=0
while [ "$i" -lt "$count" ]; do
  for side in old new; do
    root=.
    if [ "$side" = old ]; then root=$dir/base; fi
    (cd "$root/$package" && "$dir/$side.test" -test.run='^$' -test.bench="$pattern" -test.benchmem) >>"$dir/$side.txt"
  done
  i=$((i + 1))
done
go tool -modfile=hack/go.mod benchstat "old=$dir/old.txt" "new=$dir/new.txt"
