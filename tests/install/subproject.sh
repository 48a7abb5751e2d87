#!/usr/bin/env bash
# subproject.sh <cmake> <source tree> <parent project> <compiler>
# Configures a project that includes us by add_subdirectory and checks what that did to it. It is not
# built: the sources and flags are those of the build that runs this test.
set -euo pipefail

cmake=$1 source_dir=$2 parent=$3 compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" -S "$parent" -B "$work/build" -DPOSTROOM_SOURCE_DIR="$source_dir" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug -Werror=dev
"$cmake" --install "$work/build" --prefix "$work/prefix" >/dev/null
if [[ -d $work/prefix && -n $(find "$work/prefix" -type f) ]]; then
    echo "a parent's install step installs our files" >&2
    exit 1
fi
