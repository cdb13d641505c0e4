#!/bin/sh
# Prints the folder and the name of each fuzz target: webhook:FuzzHandler
set -eu

cd "$(dirname "$0")/../.."
grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' cmd config internal merge ownership plugin webhook | sed 's|/[^/]*:func |:|' | sort
