#!/usr/bin/env bash
# check_layers_test.sh <check_layers.sh>: the check accepts a good tree and names each planted violation.
set -euo pipefail

check=$1
src=$(mktemp -d)
trap 'rm -rf "$src"' EXIT

plant() {  # <file> <include>
    mkdir -p "$src/$(dirname "$1")"
    printf '#include <string>\n#include <postroom/store.hpp>\n  #  include %s\n' "$2" >"$src/$1"
}

refused() {  # <file> <include> <text of the report>
    plant "$1" "$2"
    if report=$("$check" "$src"); then
        echo "not found: $1 includes $2" >&2
        exit 1
    fi
    if ! grep -qF "$1:3: $3" <<<"$report" || [[ $(wc -l <<<"$report") -ne 1 ]]; then
        printf 'wrong report for %s including %s:\n%s\n' "$1" "$2" "$report" >&2
        exit 1
    fi
    rm "$src/$1"
}

plant base/uuid.cpp '"base/uuid.hpp"'
plant queue/settler.cpp '"base/uuid.hpp"'
plant sql/sql_store.cpp '"queue/settler.hpp"'
plant outbox/outbox.cpp '"queue/settler.hpp"'
plant backends/sqlite/driver.cpp '"sql/dialect.hpp"'
plant backends/sqlite/dialect.cpp '"backends/sqlite/driver.hpp"'
plant backends/open_store.cpp '"backend_table.hpp"'
plant webhooks/sign.cpp '"base/sha256.hpp"'
"$check" "$src" || { echo "a good tree was refused" >&2; exit 1; }

refused base/bad.cpp '"queue/settler.hpp"' 'base must not include queue'
refused base/bad.hpp '"../sql/pool.hpp"' 'base must not include sql'
refused queue/bad.cpp '"sql/pool.hpp"' 'queue must not include sql'
refused queue/bad.hpp '<runtime/loop.hpp>' 'queue must not include runtime'
refused outbox/bad.cpp '"sql/pool.hpp"' 'outbox must not include sql'
refused outbox/bad.cpp '"inbox/inbox.hpp"' 'outbox must not include inbox'
refused webhooks/bad.cpp '"queue/settler.hpp"' 'webhooks must not include queue'
refused sql/bad.cpp '"backends/sqlite/driver.hpp"' 'sql must not include backends/sqlite'
refused backends/sqlite/bad.cpp '"backends/postgres/driver.hpp"' \
    'backends/sqlite must not include backends/postgres'
refused backends/sqlite/bad.cpp '"../postgres/driver.hpp"' \
    'backends/sqlite must not include backends/postgres'
refused backends/sqlite/bad.cpp '"outbox/outbox.hpp"' 'backends/sqlite must not include outbox'

clock_read() {  # <file>
    mkdir -p "$src/$(dirname "$1")"
    printf 'auto f() { return std::chrono::steady_clock::now(); }\n' >"$src/$1"
}
clock_read runtime/clock.cpp
clock_read sql/runner.cpp
"$check" "$src" || { echo "a clock was refused where one may be read" >&2; exit 1; }
clock_read dispatch/bad.cpp
if report=$("$check" "$src"); then
    echo "not found: dispatch reads a clock" >&2
    exit 1
fi
grep -qF "dispatch/bad.cpp:1: dispatch must not read a clock" <<<"$report"
rm "$src/dispatch/bad.cpp"

mkdir "$src/elsewhere"
printf '#include <string>\n' >"$src/elsewhere/new.cpp"
if "$check" "$src" >/dev/null; then
    echo "a folder without a place in the table was accepted" >&2
    exit 1
fi
