#!/usr/bin/env bash
# sources.sh <extension>...: our files with these extensions, each ended by a zero byte.
set -euo pipefail
cd "$(dirname "$0")/.."

patterns=()
for extension in "$@"; do patterns+=(-o -name "*.$extension"); done
find include src tests examples bench tools packaging web -type f \( "${patterns[@]:1}" \) \
    -not -path '*/node_modules/*' -print0 \
    2>/dev/null | sort -z || true
