#!/usr/bin/env bash
# run_tests.sh <scale>: every check there is, with loads at <scale> (1: full, 0.1: a tenth).
#
# Steps: release build and all tests; AddressSanitizer + UBSan; ThreadSanitizer over what is threaded;
# clang with thread-safety errors; formatting. Tests wait a good part of their time, for servers, leases
# and disks: meanwhile the next builds are made, by processes that get what the tests leave over. A step
# that breaks does not hide the later ones. The last line is "N passed, M failed" over all ctest runs,
# where a broken build counts as one failure; the exit status is 0 only if nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

export POSTROOM_TEST_SCALE=${1:-0.1}
jobs=${JOBS:-$(nproc)}
passed=0
failed=0
summary=()
failures=()
broken_reports=()

finish() {
    printf '\n== Summary\n'
    printf '%s\n' "${summary[@]}"
    local report
    for report in "${broken_reports[@]}"; do awk -v lines=40 -f tools/failure_output.awk "$report"; done
    if [[ ${#failures[@]} -gt 0 ]]; then printf 'FAILED: %s\n' "${failures[@]}"; fi
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [[ $failed -eq 0 ]]
    exit
}

note() {  # <step> <outcome> <since>
    summary+=("$(printf '%-28s %-24s %4d s' "$1" "$2" $((SECONDS - $3)))")
}

# step <name> <command...>: a check that is one success or one failure; only the failure is counted.
step() {
    local name=$1 since=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    if "$@"; then
        note "$name" ok "$since"
    else
        failed=$((failed + 1))
        failures+=("$name")
        note "$name" FAILED "$since"
        return 1
    fi
}

build() {  # <preset> [target]
    cmake --preset "$1" && cmake --build --preset "$1" -j "$jobs" --target "${2:-all}"
}

# run_ctest <test preset>: counts what ran. A test that was to run and did not (skipped, disabled, not
# built, fixture broken) has failed, and so has a run that left no report or holds no test.
run_ctest() {
    local preset=$1 since=$SECONDS status=0 good=0 bad=0 result
    local report=$PWD/build/junit-$preset.xml
    printf '\n== tests: %s\n' "$preset"
    rm -f "$report"
    ctest --preset "$preset" --output-junit "$report" || status=$?
    if [[ -f $report ]]; then
        mapfile -t result < <(awk -f tools/count_tests.awk "$report")
        read -r good bad <<<"${result[0]}"
        local test
        for test in "${result[@]:1}"; do failures+=("$preset: $test"); done
        if [[ $bad -gt 0 ]]; then broken_reports+=("$report"); fi
    fi
    if [[ $bad -eq 0 && ($good -eq 0 || $status -ne 0) ]]; then
        bad=1
        failures+=("tests: $preset")
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    note "tests: $preset" "$good passed, $bad failed" "$since"
}

step "packages" tools/install_packages.sh || finish

# The full run adds a real MySQL and a Galera cluster to the release tests, and chaos to those with sanitizers.
full=
address_tests=address_tests
if [[ $POSTROOM_TEST_SCALE == 1 ]]; then
    full=-full
    address_tests=all
fi

# later_builds: the builds behind the first, each with its log in build/later/<name>.log and its exit status in
# build/later/<name>.status, which appears when it is over.
later_builds() {
    build_later asan build asan "$address_tests"
    build_later tsan build tsan threaded_tests
    build_later clang build clang product
}

build_later() {  # <name> <command...>
    local name=$1 status=0
    shift
    "$@" >"build/later/$name.log" 2>&1 || status=$?
    echo "$status" >"build/later/$name.part" && mv "build/later/$name.part" "build/later/$name.status"
}

built() {  # <name>: waits for that build and shows its log
    until [[ -f build/later/$1.status ]] || ! kill -0 "$builder" 2>/dev/null; do sleep 1; done
    cat "build/later/$1.log"
    [[ $(cat "build/later/$1.status") == 0 ]]
}

# However this script ends, its builds end too.
end_builder() {
    kill -- "-$builder" 2>/dev/null
    wait "$builder" 2>/dev/null
}

if step "build: release" build release; then release_is_built=1; fi
rm -rf build/later && mkdir -p build/later
set -m
(
    chrt --idle --pid 0 $BASHPID || renice -n 19 -p $BASHPID
    later_builds
) >build/later/log 2>&1 &
builder=$!
set +m
trap end_builder EXIT
if [[ -n ${release_is_built:-} ]]; then run_ctest "release$full"; fi
if step "build: asan" built asan; then run_ctest "asan$full"; fi
if step "build: tsan" built tsan; then run_ctest tsan; fi
step "build: clang" built clang
step "lint: formatting" tools/lint.sh --quick
finish
