#!/bin/bash -eu
# Builds all fuzz targets in OSS-Fuzz' image for Go.

cd "$SRC/handoff"
go get github.com/AdamKorcz/go-118-fuzz-build/testing
for target in $(sh test/oss-fuzz/targets.sh); do
	folder=${target%:*} name=${target#*:}
	compile_native_go_fuzzer_v2 "github.com/ownership-handoff/handoff/$folder" "$name" "$(echo "$folder" | tr / _)_$name"
done
