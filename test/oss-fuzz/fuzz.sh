#!/bin/sh
# Runs each fuzz target for a time, and adds up the inputs of all runs in bin/fuzz/inputs: fuzz.sh 5m. The corpus, bin/fuzz/corpus,
# grows from run to run; copy that of another machine into it to merge them.
set -eu

time=$1
cd "$(dirname "$0")/../.."
root=$PWD/bin/fuzz
mkdir -p "$root"
status=0
for target in $(sh test/oss-fuzz/targets.sh); do
	folder=${target%:*} name=${target#*:}
	program=$root/$(echo "$folder" | tr / -).test
	go test -c -fuzz="^$name\$" -o "$program" "./$folder"
	if ! (cd "$folder" && "$program" -test.run='^$' -test.fuzz="^$name\$" -test.fuzztime="$time" -test.fuzzcachedir="$root/corpus/$folder") \
		>"$root/log" 2>&1; then
		status=1
		cat "$root/log"
	fi
	inputs=$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' "$root/log" | tail -n 1)
	echo "$target ${inputs:-0}" >>"$root/inputs"
	echo "fuzz: $target: ${inputs:-0} inputs"
done
awk '{ all += $2 } END { printf "fuzz: %d inputs in all runs\n", all }' "$root/inputs"
exit $status
