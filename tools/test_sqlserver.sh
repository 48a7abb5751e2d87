#!/usr/bin/env bash
# test_sqlserver.sh <url>: the laws, the property test, the races and the kills on a SQL Server of yours.
#
# The account of the URL must be allowed to create databases; each test has one of its own and drops it. With
# POSTROOM_TEST_SQLSERVER_RESTART set to a command that restarts the server ("docker restart sql"), that is tested too.
# POSTROOM_TEST_SCALE is 0.25 unless given: 50,000 messages for 32 workers. GTEST_FILTER chooses among the laws.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

if [[ $# -ne 1 || $1 != sqlserver://* ]]; then
    echo "usage: make test-sqlserver URL=sqlserver://user:password@host:1433/master" >&2
    exit 2
fi
export POSTROOM_TEST_SQLSERVER=$1
export POSTROOM_TEST_SCALE=${POSTROOM_TEST_SCALE:-0.25}
build=build/release
export POSTROOM_TEST_SERVERS=$PWD/$build/servers

cmake --preset release &&
    cmake --build --preset release -j "${JOBS:-$(nproc)}" \
        --target conformance_tests property_tests chaos_tests test_children || exit 1

failed=()
run() {  # <program> <filter>
    printf '\n== %s\n' "$1"
    "$build/bin/$1" --gtest_brief=1 --gtest_filter="$2" || failed+=("$1")
}

run conformance_tests "${GTEST_FILTER:-*/SqlServer*}"
# Once more for a client whose clock is ten days ahead: the database's decides.
LD_PRELOAD=$PWD/$build/lib/libshifted_clock.so POSTROOM_TEST_CLOCK_SHIFT=864000 \
    run conformance_tests 'ClaimLaw.*/SqlServer*:LeaseLaw.*/SqlServer*:RetryLaw.*/SqlServer*:SettleLaw.*/SqlServer*:DispatcherLaw.*/SqlServer*'
run chaos_tests '*/SqlServer:SqlServer/*'
# The property test puts the same history to every store, so it needs the other servers too.
for server in postgres mariadb; do tests/servers/$server.sh start "$POSTROOM_TEST_SERVERS/$server" || failed+=("$server"); done
run property_tests '*'
for server in postgres mariadb; do tests/servers/$server.sh stop "$POSTROOM_TEST_SERVERS/$server"; done

if [[ ${#failed[@]} -gt 0 ]]; then
    printf 'FAILED on SQL Server: %s\n' "${failed[@]}"
    exit 1
fi
echo "all passed on SQL Server"
