#!/usr/bin/env bash
# npm_packages.sh <from> <folder> [--programs]: installs the npm packages of <from>, in the versions and with the checksums
# of its package-lock.json, into <folder>. Does not install them a second time. With --programs the scripts of <from> come
# too: an ES module finds its packages beside it only.
set -euo pipefail

from=$1
folder=$2

for program in node npm; do
    if ! command -v "$program" >/dev/null; then
        echo "$program is missing; install the packages in tools/packages.txt" >&2
        exit 1
    fi
done

mkdir -p "$folder"
if [[ ${3:-} == --programs ]]; then find "$from" -maxdepth 1 -name '*.*js' -exec cp {} "$folder/" \;; fi
if cmp -s "$from/package-lock.json" "$folder/installed.json"; then exit 0; fi
cp "$from/package.json" "$from/package-lock.json" "$folder/"
cd "$folder"
# Where the registry cannot be reached at all, somebody waits for the build to go on without it.
patience=(--fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=2000 --fetch-timeout=60000)
# No install scripts: these packages have no business at install time.
for attempt in 1 2 3; do
    if npm ci --ignore-scripts --no-audit --no-fund --loglevel=error "${patience[@]}"; then break; fi
    # The registry may be busy for a moment.
    if [[ $attempt -eq 3 ]]; then exit 1; fi
    sleep 5
done
cp package-lock.json installed.json
