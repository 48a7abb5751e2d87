#!/usr/bin/env bash
# install.sh <folder>: puts the npm packages that the code of a guide needs, in the versions and with
# the checksums of package-lock.json, into <folder>. Does nothing the second time.
set -euo pipefail

folder=$1
here=$(cd "$(dirname "$0")" && pwd)

if ! command -v npm >/dev/null; then
    echo "npm is missing; install the packages in tools/packages.txt" >&2
    exit 1
fi

mkdir -p "$folder"
if cmp -s "$here/package-lock.json" "$folder/installed.json"; then
    echo "the packages are installed in $folder"
    exit 0
fi
cp "$here/package.json" "$here/package-lock.json" "$folder/"
cd "$folder"
# No install scripts: these packages are plain JavaScript and have no business at install time.
npm ci --ignore-scripts --no-audit --no-fund
cp package-lock.json installed.json
