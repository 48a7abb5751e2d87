# shellcheck shell=sh disable=SC2034,SC2012,SC2164  # sourced, under set -e, by scripts that use its variables
# Sourced by the measuring scripts: starts a private PostgreSQL server in the temporary directory
# $directory, on port $port, with its programs in $postgres_bin. It ends with the script.

port=${BENCH_PORT:-55471}
directory=$(mktemp -d)
shell=

# PostgreSQL refuses to run as root.
as_server() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
    else
        "$@"
    fi
}

# The process in the background is a shell around the server, so the server's own file names it.
stop() {
    if [ -s "$directory/data/postmaster.pid" ]; then
        kill -INT "$(head -n 1 "$directory/data/postmaster.pid")" 2>/dev/null || true
    fi
    if [ -n "$shell" ]; then wait "$shell" 2>/dev/null || true; fi
    rm -rf "$directory"
}
trap stop EXIT
trap 'exit 130' INT TERM

postgres_bin=$(pg_config --bindir 2>/dev/null || true)
[ -x "$postgres_bin/initdb" ] || postgres_bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb | tail -n 1)")

if [ "$(id -u)" -eq 0 ]; then chown nobody "$directory"; fi
cd "$directory"
as_server "$postgres_bin/initdb" -D "$directory/data" -U postgres -A trust --no-locale -E UTF8 \
    >"$directory/initdb.log"
as_server "$postgres_bin/postgres" -D "$directory/data" -p "$port" -k "$directory" \
    -c listen_addresses=127.0.0.1 -c shared_buffers=1GB -c max_wal_size=8GB \
    -c autovacuum_naptime="${naptime:-60s}" \
    >"$directory/server.log" 2>&1 &
shell=$!
tries=0
until "$postgres_bin/pg_isready" -q -h 127.0.0.1 -p "$port"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ]; then
        cat "$directory/server.log" >&2
        exit 1
    fi
    sleep 0.1
done
