#!/usr/bin/env bash
# subproject.sh <cmake> <source tree> <parent project> <compiler> <build folder>
# Builds a project that includes us by add_subdirectory, sends a message with it, and checks what including us did to it.
# The build folder is kept, and ccache is used where it is there, so that a second run has little to compile.
set -euo pipefail

cmake=$1 source_dir=$2 parent=$3 compiler=$4 build=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" -S "$parent" -B "$build" -G Ninja -DPOSTROOM_SOURCE_DIR="$source_dir" -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -Werror=dev \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)"
"$cmake" --build "$build" --target parent
"$build/parent" "$work/parent.db"

"$cmake" --install "$build" --prefix "$work/prefix" >/dev/null
if [[ -d $work/prefix && -n $(find "$work/prefix" -type f) ]]; then
    echo "a parent's install step installs our files" >&2
    exit 1
fi

echo "== the summary says whether the program has its dashboard, and why not"
"$cmake" -S "$parent" -B "$work/summary" -DPOSTROOM_SOURCE_DIR="$source_dir" -DCMAKE_CXX_COMPILER="$compiler" \
    -DPOSTROOM_PROGRAM=ON -DPOSTROOM_DASHBOARD=OFF >"$work/summary.log"
grep "dashboard: no: POSTROOM_DASHBOARD is OFF" "$work/summary.log"
