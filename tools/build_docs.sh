#!/usr/bin/env bash
# build_docs.sh [output]: the documentation as a site, in build/docs unless told otherwise. Links that lead nowhere are errors.
# Each version has a folder of its own there; build another one into the same place, and the site lets a reader choose.
#
# The pages are those of the repository, where they are: README.md, docs/, clients/ and the README files in the source folders.
# What else they link to (an example, a file of the sources) is copied beside them.
set -euo pipefail
cd "$(dirname "$0")/.."

output=$(realpath -m "${1:-build/docs}")
source=build/docs-source
rm -rf "$source"
mkdir -p "$source"
git ls-files -z --cached --others --exclude-standard -- '*.md' '*.hpp' LICENSE docs examples clients packaging deploy src/cli/demo |
    while IFS= read -r -d '' file; do if [[ -f $file ]]; then printf '%s\0' "$file"; fi; done |
    xargs -0 cp --parents -t "$source"
version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt)
PYTHONWARNINGS=ignore mkdocs build --quiet --strict --site-dir "$output/$version"

# The list of versions is the theme's (extra.version in mkdocs.yml), newest first.
versions=$(cd "$output" && printf '%s\n' [0-9]*/ | tr -d / | sort --version-sort --reverse)
newest=$(head -n 1 <<<"$versions")
python3 -c 'import json, sys; print(json.dumps([{"version": v, "title": v, "aliases": []} for v in sys.stdin.read().split()]))' \
    <<<"$versions" >"$output/versions.json"
printf '<!doctype html><meta http-equiv="refresh" content="0; url=%s/index.html"><a href="%s/index.html">Postroom</a>\n' \
    "$newest" "$newest" >"$output/index.html"
