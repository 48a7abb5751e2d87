#!/bin/sh
# Runs the storage comparisons with a private PostgreSQL server in a temporary directory.
# Usage: bench_storage [--quick]
set -eu

programs=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=bench/private_postgres.sh
. "$programs/private_postgres.sh"

echo "PostgreSQL"
"$programs/postgres_shapes" "host=127.0.0.1 port=$port user=postgres dbname=postgres" "$@"
echo
echo "SQLite"
mkdir "$directory/sqlite"
"$programs/sqlite_shapes" "$directory/sqlite" "$@"
