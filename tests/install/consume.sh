#!/usr/bin/env bash
# consume.sh <cmake> <build folder> <consumer project> <compiler>
# Installs the build into a prefix of its own, then builds and runs the consumer against only that.
set -euo pipefail

cmake=$1 build_dir=$2 consumer=$3 compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

"$cmake" --install "$build_dir" --prefix "$prefix" >"$work/install.log" ||
    { cat "$work/install.log"; exit 1; }
if grep -rlF -e "$build_dir" "$prefix" --include='*.cmake' --include='*.pc'; then
    echo "the installed package names the build folder" >&2
    exit 1
fi

if [[ -x $prefix/bin/postroom ]]; then
    echo "== the program, its man pages and completions"
    "$prefix/bin/postroom" version
    cmp <("$prefix/bin/postroom" pages man) "$prefix/share/man/man1/postroom.1"
    cmp <("$prefix/bin/postroom" pages man-config) "$prefix/share/man/man5/postroom.toml.5"
    cmp <("$prefix/bin/postroom" completion bash) "$prefix/share/bash-completion/completions/postroom"
    cmp <("$prefix/bin/postroom" completion zsh) "$prefix/share/zsh/site-functions/_postroom"
    cmp <("$prefix/bin/postroom" completion fish) "$prefix/share/fish/vendor_completions.d/postroom.fish"
fi

echo "== find_package"
"$cmake" -S "$consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug
"$cmake" --build "$work/build"
"$work/build/consumer" "$work/cmake.db"

echo "== an unknown component is refused"
if "$cmake" -S "$consumer" -B "$work/refused" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCOMPONENT=no_such_database >"$work/refused.log" 2>&1; then
    echo "find_package accepted the component no_such_database" >&2
    exit 1
fi
grep -q no_such_database "$work/refused.log"

echo "== another minor version is refused: before 1.0 it is another interface"
if "$cmake" -S "$consumer" -B "$work/refused" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_CXX_COMPILER="$compiler" -DWANTED_VERSION=0.0 >"$work/refused.log" 2>&1; then
    echo "find_package took this version for 0.0" >&2
    exit 1
fi
grep -q 'requested version "0.0"' "$work/refused.log"

pc_file=$(find "$prefix" -name postroom.pc)
PKG_CONFIG_PATH=$(dirname "$pc_file")
export PKG_CONFIG_PATH
lib_dir=$(pkg-config --variable=libdir postroom)
kind=(--shared)
if [[ -e $lib_dir/libpostroom.a ]]; then kind=(--static); fi
if [[ ${kind[0]} == --shared ]]; then
    echo "== what the libraries are built with need not be installed"
    PKG_CONFIG_LIBDIR=$PKG_CONFIG_PATH pkg-config --print-errors --cflags --libs postroom-sqlite postroom-sink-http
fi
for modules in postroom-sqlite "postroom-backends postroom-sinks"; do
    echo "== pkg-config $modules"
    read -r -a flags <<<"$(pkg-config "${kind[@]}" --cflags --libs "$modules")"
    "$compiler" -std=c++20 "$consumer/main.cpp" -o "$work/by_pkg_config" "${flags[@]}" \
        -Wl,-rpath,"$lib_dir"
    "$work/by_pkg_config" "$work/pkg_config.db"
done
for pc_file in "$PKG_CONFIG_PATH"/*.pc; do pkg-config --exists --print-errors "$(basename "$pc_file" .pc)"; done
