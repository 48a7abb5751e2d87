#!/usr/bin/env bash
# run_tests.sh <scale>: every check there is, with loads at <scale> (1: full, 0.1: a tenth).
#
# Steps: release build and all tests; AddressSanitizer + UBSan; ThreadSanitizer over what is threaded;
# clang with thread-safety errors; the fuzz targets, some seconds each; formatting. One after the other: a compiler beside the
# tests, even one in the idle class of the scheduler, makes MariaDB stall for seconds, because it yields its processor while it
# waits, and leases run out. A step that breaks does not hide the later ones. The last line is "N passed, M failed"
# over all ctest runs, where a broken build counts as one failure; the exit status is 0 only if nothing failed.
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
    if [[ -z ${POSTROOM_TEST_SQLSERVER:-} ]]; then
        echo "The laws on SQL Server were not run: no server is named (make test-sqlserver URL=sqlserver://...)."
    fi
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
    # What a shard says at its end is counted, however much its tests have logged before.
    ctest --preset "$preset" --output-junit "$report" --test-output-truncation head --test-output-size-passed 65536 || status=$?
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

# All but the peers, which are only measured.
step "packages" tools/install_packages.sh build deb bench test docs lint || finish

# The full run adds a real MySQL and a Galera cluster to the release tests, and chaos to those with sanitizers.
full=
address_tests=address_tests
if [[ $POSTROOM_TEST_SCALE == 1 ]]; then
    full=-full
    address_tests=all
fi

if step "build: release" build release; then run_ctest "release$full"; fi
if step "build: asan" build asan "$address_tests"; then run_ctest "asan$full"; fi
if step "build: tsan" build tsan threaded_tests; then run_ctest tsan; fi
step "build: clang" build clang product
if step "build: fuzz" build fuzz fuzz_targets; then run_ctest fuzz; fi
# Everything above compiles files together; the package of a distribution does not.
if [[ -n $full ]]; then step "build: files one by one" build dev product; fi
step "lint: formatting" tools/lint.sh --quick
finish
