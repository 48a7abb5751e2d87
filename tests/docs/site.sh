#!/usr/bin/env bash
# site.sh <build_docs.sh> <folder>: the site is built, with search, beside that of an older version.
set -euo pipefail

build=$1 output=$2
rm -rf "$output"
mkdir -p "$output/0.0.9"
"$build" "$output"
[[ $(python3 -c 'import json, sys; print(*(entry["version"] for entry in json.load(sys.stdin)))' <"$output/versions.json") == *" 0.0.9" ]]
newest=$(grep -o 'url=[^/]*' "$output/index.html" | cut -d= -f2)
for file in index.html docs/start/install.html docs/images/states.svg search/search_index.json; do
    [[ -s $output/$newest/$file ]] || { echo "$newest/$file is missing" >&2; exit 1; }
done
