#!/usr/bin/env bash
# format.sh [--check]: brings the sources into the form of .clang-format, or says which are not.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == --check ]]; then
    tools/sources.sh cpp hpp | xargs -0 -r clang-format --dry-run --Werror --ferror-limit=1
else
    tools/sources.sh cpp hpp | xargs -0 -r clang-format -i
fi
