#!/usr/bin/env bash
# static.sh <cmake> <source tree> <compiler> <build folder>
# The whole product as static libraries: built, installed and consumed like the shared ones.
set -euo pipefail

cmake=$1 source_dir=$2 compiler=$3 build=$4

"$cmake" -S "$source_dir" -B "$build" -G Ninja -DPOSTROOM_SHARED=OFF -DPOSTROOM_COMPONENTS=ON -DPOSTROOM_TESTS=OFF \
    -DPOSTROOM_EXAMPLES=OFF -DPOSTROOM_BENCH=OFF -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0
"$cmake" --build "$build"
if [[ -n $(find "$build" -name '*.so*') ]]; then
    echo "a static build made shared libraries" >&2
    exit 1
fi
here=$(dirname "$0")
exec "$here/consume.sh" "$cmake" "$build" "$here/consumer" "$compiler"
