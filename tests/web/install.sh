#!/usr/bin/env bash
# install.sh <folder>: puts the browser tests and the npm packages they need into <folder>.
set -euo pipefail

folder=$1
here=$(cd "$(dirname "$0")" && pwd)

if ! command -v chromium >/dev/null; then
    echo "chromium is missing; install the packages in tools/packages.txt" >&2
    exit 1
fi
rm -f "$folder"/*.mjs
"$here/../../tools/npm_packages.sh" "$here" "$folder" --programs
