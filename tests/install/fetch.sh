#!/usr/bin/env bash
# fetch.sh <cmake> <source tree> <project> <compiler> <folder>
# Builds a project that gets us by FetchContent, from the folder beside its own, with one backend and nothing else, and sends a
# message with it. The folder is kept, so that a second run has little to compile.
set -euo pipefail

cmake=$1 source_dir=$2 project=$3 compiler=$4 neighbours=$5/neighbours
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build=$neighbours/build
mkdir -p "$neighbours"
ln -sfn "$source_dir" "$neighbours/postroom"
cp -rp "$project" "$project/../consumer" "$neighbours"
project=$neighbours/$(basename "$project")

"$cmake" -S "$project" -B "$build" -G Ninja -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -Werror=dev
"$cmake" --build "$build" --target shop
"$build/shop" "$work/fetched.db"

echo "== a switch that is on without its library is an error that names both"
if "$cmake" -S "$project" -B "$work/refused" -DCMAKE_CXX_COMPILER="$compiler" \
    -DPOSTROOM_SINK_KAFKA=ON -DCMAKE_DISABLE_FIND_PACKAGE_RdKafka=ON >"$work/refused.log" 2>&1; then
    echo "the sink kafka was configured without its library" >&2
    exit 1
fi
grep -q "sink kafka needs RdKafka" "$work/refused.log"

echo "== what AUTO leaves out, the summary names with its reason"
"$cmake" -S "$project" -B "$work/auto" -DCMAKE_CXX_COMPILER="$compiler" \
    -DPOSTROOM_SINK_KAFKA=AUTO -DCMAKE_DISABLE_FIND_PACKAGE_RdKafka=ON | tee "$work/auto.log"
grep -q "sink kafka: no: RdKafka was not found" "$work/auto.log"
grep -q "backend sqlite: yes, with SQLite3" "$work/auto.log"
