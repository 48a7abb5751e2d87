#!/bin/sh
# Measures what waiting keyed messages cost unordered ones, on PostgreSQL and SQLite.
# Usage: bench_ordering [--quick]
set -eu

programs=$(cd "$(dirname "$0")" && pwd)
# What ten thousand keyed messages leave in the indexes is gone within a minute, but this does not wait for that.
export naptime=1s
# shellcheck source=bench/private_postgres.sh
. "$programs/private_postgres.sh"

echo "PostgreSQL"
for database in plain keyed; do
    "$postgres_bin/createdb" -h 127.0.0.1 -p "$port" -U postgres "$database"
done
"$programs/ordering_drain" "postgresql://postgres@127.0.0.1:$port/plain" \
    "postgresql://postgres@127.0.0.1:$port/keyed" "$@"
echo
echo "SQLite"
mkdir "$directory/sqlite"
"$programs/ordering_drain" "sqlite://$directory/sqlite/plain.db" \
    "sqlite://$directory/sqlite/keyed.db" "$@"
