#!/usr/bin/env bash
# install.sh <folder>: puts the peer of the webhook tests and the npm packages it needs, in the
# versions and with the checksums of package-lock.json, into <folder>. Does nothing the second time.
set -euo pipefail

folder=$1
here=$(cd "$(dirname "$0")" && pwd)

for program in node npm; do
    if ! command -v "$program" >/dev/null; then
        echo "webhook tests: $program is missing; install the packages in tools/packages.txt" >&2
        exit 1
    fi
done

mkdir -p "$folder"
cp "$here/peer.js" "$folder/"
if cmp -s "$here/package-lock.json" "$folder/installed.json"; then
    echo "the peer is installed in $folder"
    exit 0
fi
cp "$here/package.json" "$here/package-lock.json" "$folder/"
cd "$folder"
# No install scripts: these packages are plain JavaScript and have no business at install time.
for attempt in 1 2 3; do
    if npm ci --ignore-scripts --no-audit --no-fund; then break; fi
    # The registry may be busy for a moment.
    if [[ $attempt -eq 3 ]]; then exit 1; fi
    sleep 5
done
cp package-lock.json installed.json
