#!/usr/bin/env bash
# conformance_report.sh <build folder> [--check] [--junit <results>]: which test shows which requirement.
#
# Reads the names of all tests from ctest and writes docs/reference/conformance.md: every requirement of the
# specifications with its tests and the backends they run on, or the reason from conformance_reasons.txt why there is
# none. Fails when a requirement has neither, or a reason stands where a test does.
#
#   --check            write nothing; fail when the document is not what would be written
#   --junit <results>  also fail when a test that the document names is not among the passed ones
set -euo pipefail

usage() { echo "usage: ${0##*/} <build folder> [--check] [--junit <results>]" >&2; exit 2; }

[[ $# -ge 1 ]] || usage
build=$1
shift
check=
junit=
while [[ $# -gt 0 ]]; do
    case $1 in
        --check) check=1 ;;
        --junit) shift; junit=${1:?} ;;
        *) usage ;;
    esac
    shift
done

root=$(cd "$(dirname "$0")/.." && pwd)
document=$root/docs/reference/conformance.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ctest --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p' | LC_ALL=C sort >"$work/tests"
if grep -q '_NOT_BUILT$' "$work/tests"; then
    echo "build everything first: $(grep '_NOT_BUILT$' "$work/tests" | tr '\n' ' ')" >&2
    exit 1
fi

awk -f "$root/tools/conformance_report.awk" \
    "$root/tools/conformance_reasons.txt" "$work/tests" >"$work/document"

if [[ -n $junit ]]; then
    sed -n 's/^[[:space:]]*<testcase name="\([^"]*\)".* status="run">$/\1/p' "$junit" |
        LC_ALL=C sort >"$work/passed"
    grep -E '(OBX|IBX)_[0-9]{3}_|\.O[0-9]+_|S00[0-4]_' "$work/tests" >"$work/named"
    if ! LC_ALL=C comm -23 "$work/named" "$work/passed" | tee "$work/missing" | { ! grep .; }; then
        echo "$(wc -l <"$work/missing") tests named in the document did not pass" >&2
        exit 1
    fi
fi

if [[ -n $check ]]; then
    if ! diff -u "$document" "$work/document"; then
        echo "docs/reference/conformance.md is stale: run tools/conformance_report.sh $build" >&2
        exit 1
    fi
else
    mkdir -p "${document%/*}"
    cp "$work/document" "$document"
fi
