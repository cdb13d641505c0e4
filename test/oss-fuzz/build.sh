#!/bin/bash -eu
# Builds all fuzz targets in OSS-Fuzz' image for Go. License: http://www.apache.org/licenses/LICENSE-2.0
#
# OSS-Fuzz' compile_native_go_fuzzer_v2 finds no target in a package whose name ends in _test, which all of ours are in, its testing.F
# is no testing.TB, and it fails if Go has downloaded the version of go.mod. compile_go_fuzzer compiles a function with a parameter
# []byte, but no file whose name ends in _test.go. This script therefore changes a copy of the repository: the tests beside each target
# become a package with such a function, and package libfuzzer replaces package testing everywhere.

rm -rf "$WORK/handoff"
mkdir "$WORK/handoff"
cd "$SRC/handoff"
tar -c --exclude=./bin --exclude=./.git . | tar -x -C "$WORK/handoff"
cd "$WORK/handoff"
module=github.com/ownership-handoff/handoff
import='^(import |	)"testing"$'
grep -rlE --include='*.go' --exclude-dir=libfuzzer "$import" . |
	xargs sed -i -E "s#$import#\1testing \"$module/test/oss-fuzz/libfuzzer\"#"
targets=$(sh test/oss-fuzz/targets.sh)
cp -R $(echo "$targets" | sed 's|[/:].*||' | sort -u) "$OUT" # the testdata that targets read while they are set up
for target in $targets; do
	folder=${target%:*} name=${target#*:}
	fuzzer=$(echo "$folder" | tr / _)_$name
	package=test/oss-fuzz/$fuzzer
	mkdir "$package"
	for file in "$folder"/*_test.go; do
		if grep -q '^package .*_test$' "$file"; then
			sed 's/^\(package .*\)_test$/\1/' "$file" >"$package/$(basename "$file" _test.go).go"
		else # exports something to these tests
			cp "$file" "${file%_test.go}_exports.go"
		fi
	done
	cat >"$package/libfuzzer.go" <<-END
		package $(sed -n 's/^package //p' "$package"/*.go | head -n 1)

		import "$module/test/oss-fuzz/libfuzzer"

		func LibFuzzer(input []byte) int { return libfuzzer.Run($name, "$folder", input) }
	END
	compile_go_fuzzer "$module/$package" LibFuzzer "$fuzzer"
	if [ "$SANITIZER" = address ]; then # the build that fuzzes
		seeds=$(mktemp -d)
		SEEDS=$seeds "$OUT/$fuzzer"
		zip -qj "$OUT/${fuzzer}_seed_corpus.zip" "$seeds"/*
	fi
done
