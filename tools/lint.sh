#!/usr/bin/env bash
# lint.sh [--quick]: formatting and shell scripts; without --quick also clang-tidy over the library.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

status=0
tools/format.sh --check || { echo "run: make format" >&2; status=1; }

tools/sources.sh sh | xargs -0 -r shellcheck --severity=warning || status=1

if [[ ${1:-} != --quick ]]; then
    # clang's own build folder: clang-tidy 14 does not know every flag of g++. The generated sources
    # and headers must exist, so it is built first.
    if cmake --preset clang >/dev/null &&
        cmake --build --preset clang -j "${JOBS:-$(nproc)}" --target product; then
        find src -name '*.cpp' -print0 | sort -z |
            xargs -0 -r -n 4 -P "${JOBS:-$(nproc)}" clang-tidy -p build/clang --quiet || status=1
    else
        status=1
    fi
fi

exit "$status"
