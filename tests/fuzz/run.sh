#!/usr/bin/env bash
# run.sh <program> <name>: lets a fuzz target look for inputs that break it, for POSTROOM_FUZZ_SECONDS, or for 20 s times
# POSTROOM_TEST_SCALE, but 4 s at least. What breaks it is left in regressions/<name>: from then on every build repeats it.
# Inputs that reach new code are kept in the build folder, for the next run; beside them is the log.
set -uo pipefail

program=$1
name=$2
here=$(cd "$(dirname "$0")" && pwd)
scale=${POSTROOM_TEST_SCALE:-0.1}
seconds=${POSTROOM_FUZZ_SECONDS:-$(awk -v scale="$scale" 'BEGIN {s = int(20 * scale); print s < 4 ? 4 : s}')}
folder=$PWD/$name
mkdir -p "$folder/found"
regressions=${POSTROOM_FUZZ_REGRESSIONS:-$here/regressions}/$name
mkdir -p "$regressions"

# The limits are those of a machine that is busy with something else.
"$program" -max_total_time="$seconds" -max_len=2048 -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
    -dict="$here/words.dict" -artifact_prefix="$regressions/crash_" \
    "$folder/found" "$here/corpus/$name" "$regressions" >"$folder/log" 2>&1
status=$?
tail -n 40 "$folder/log"
rmdir --ignore-fail-on-non-empty "$regressions"
exit $status
