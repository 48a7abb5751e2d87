#!/usr/bin/env bash
# finds_it.sh <program>: run.sh fails for a target with a bug, and leaves an input that breaks it again.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
POSTROOM_FUZZ_REGRESSIONS=$(mktemp -d)
export POSTROOM_FUZZ_REGRESSIONS
trap 'rm -rf "$POSTROOM_FUZZ_REGRESSIONS"' EXIT

if POSTROOM_FUZZ_SECONDS=120 "$here/../run.sh" "$1" planted; then
    echo "the planted bug was not found" >&2
    exit 1
fi
inputs=("$POSTROOM_FUZZ_REGRESSIONS"/planted/crash_*)
[[ -f ${inputs[0]} ]] || { echo "no input was left" >&2; exit 1; }
grep -q '^bug!' "${inputs[0]}" || { echo "the input that was left is another" >&2; exit 1; }
