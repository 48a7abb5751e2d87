#!/usr/bin/env bash
# build.sh <openapi.yaml> <work folder> <page folder> [--or-without]: builds the page out of its source folder.
#
# With --or-without, a machine that cannot reach the npm registry gets an empty page folder instead of an error.
set -euo pipefail

openapi=$1
work=$2
page=$3
here=$(cd "$(dirname "$0")" && pwd)

if ! "$here/../tools/npm_packages.sh" "$here" "$work"; then
    if [[ ${4:-} != --or-without ]]; then exit 1; fi
    echo "warning: the dashboard is left out, because its npm packages could not be installed" >&2
    exit 0
fi

rm -rf "$work/src"
cp -r "$here/src" "$here/build.mjs" "$here/api_types.mjs" "$here/tsconfig.json" "$work/"
node "$work/build.mjs" "$openapi" "$page"
