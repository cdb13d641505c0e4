#!/bin/sh
# Builds a client, or a program that is measured beside handoff: build.sh TARGET FOLDER PACKAGE [MODULE CRDS...]. FOLDER contains its
# go.mod. CRDS are patterns of files in the module, which are written to a file next to the program.
set -eu

target=$1 folder=$2 package=$3
mkdir -p "$(dirname "$target")"
output=$(cd "$(dirname "$target")" && pwd)/${target##*/}
printf '%s: %s ... ' "$(basename "${output%/*}")" "${target##*/}"
began=$(date +%s)
if ! log=$(go build -C "$folder" -ldflags '-s -w' -o "$output" "$package" 2>&1); then
	echo failed
	printf '%s\n' "$log" >&2
	exit 1
fi
if [ $# -gt 3 ]; then
	module=$(go list -C "$folder" -m -f '{{.Dir}}' "$4")
	shift 4
	for pattern; do
		for file in "$module"/$pattern; do
			echo ---
			cat "$file"
		done
	done >"$output-crds.yaml"
fi
echo "$(($(date +%s) - began)) s"
