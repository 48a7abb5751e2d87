#!/usr/bin/env bash
# build_docs.sh [output]: the documentation as a site, in build/docs unless told otherwise. Links that lead nowhere are errors.
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
PYTHONWARNINGS=ignore mkdocs build --quiet --strict --site-dir "$output"
