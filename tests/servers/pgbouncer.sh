#!/usr/bin/env bash
# A private PgBouncer in transaction pooling mode, in front of the PostgreSQL that postgres.sh runs.
#
#   pgbouncer.sh start DIR    reads DIR/../postgres/postgres.env; does nothing if it runs
#   pgbouncer.sh status DIR   exit 0 when it runs, 3 when not
#   pgbouncer.sh stop DIR     stops it; does nothing when none runs
#
# DIR/pgbouncer.env names host, port and user, DIR/pid the process, DIR/pgbouncer.log keeps the log.
set -euo pipefail
# shellcheck source=tests/servers/common.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/common.sh"

pgbouncer=${POSTROOM_PGBOUNCER:-/usr/sbin/pgbouncer}
pg_isready=${POSTROOM_POSTGRES_BIN:-/usr/lib/postgresql/15/bin}/pg_isready
start_limit_seconds=60

usage() {
    die "usage: pgbouncer.sh start DIR | status DIR | stop DIR"
}

pooler_runs() {
    load_base && process_runs "$(head -n 1 "$dir/pid" 2>/dev/null)" "$data"
}

accepts_connections() {
    "$pg_isready" -q -t 5 -h 127.0.0.1 -p "$1" -d postgres -U postroom
}

# The pool is smaller than the number of clients of most tests, so that clients do share server
# connections, and no reset query hides what one of them leaves behind.
write_settings() {
    local server=$dir/../postgres/postgres.env host port user
    host=$(env_value "$server" host)
    port=$(env_value "$server" port)
    user=$(env_value "$server" user)
    write_file "$data/pgbouncer.ini" <<SETTINGS
[databases]
* = host=$host port=$port user=$user

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $1
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
server_reset_query =
server_idle_timeout = 30
ignore_startup_parameters = extra_float_digits
SETTINGS
    chown "$server_owner" "$data/pgbouncer.ini"
}

# Starts one process on port $1 and waits until it answers; fails when it ends first.
run_pooler() {
    write_settings "$1"
    setsid "${run_as[@]}" "$pgbouncer" "$data/pgbouncer.ini" \
        </dev/null >>"$dir/pgbouncer.log" 2>&1 9>&- &
    local pid=$! deadline=$((SECONDS + start_limit_seconds))
    printf '%s\n' "$pid" | write_file "$dir/pid"
    # The answer alone proves nothing: on a port lost to another server, that one answers.
    until accepts_connections "$1" && listens "$pid"; do
        # Not process_runs: until the child has called exec, its command line is this script's.
        kill -0 "$pid" 2>/dev/null && ((SECONDS < deadline)) || return 1
        sleep 0.05
    done
}

listens() {
    process_runs "$1" "$data" && grep -q "process up: PgBouncer" "$dir/pgbouncer.log"
}

status() {
    pooler_runs && accepts_connections "$(env_value "$dir/pgbouncer.env" port)"
}

start() {
    local server_port port
    server_port=$(env_value "$dir/../postgres/postgres.env" port)
    [ -n "$server_port" ] || die "no $dir/../postgres/postgres.env: start postgres.sh first"
    if [ "$(env_value "$dir/pgbouncer.env" server_port)" = "$server_port" ] && status; then return 0; fi
    stop
    choose_base disk
    load_base
    for ((attempt = 1; attempt <= port_attempts_max; attempt++)); do
        : >"$dir/pgbouncer.log"
        port=$(pick_port)
        if run_pooler "$port"; then
            write_file "$dir/pgbouncer.env" <<ENV
host=127.0.0.1
port=$port
user=postroom
server_port=$server_port
ENV
            return 0
        fi
        grep -qi "address already in use" "$dir/pgbouncer.log" || break
    done
    tail -n 20 "$dir/pgbouncer.log" >&2
    stop
    die "PgBouncer did not start (log: $dir/pgbouncer.log)"
}

# SIGTERM is PgBouncer's immediate shutdown.
stop() {
    local pid
    if pooler_runs; then
        pid=$(head -n 1 "$dir/pid")
        kill -TERM "$pid" 2>/dev/null || true
        if ! wait_gone "$pid" "$data" 5; then
            kill -KILL "$pid" 2>/dev/null || true
            wait_gone "$pid" "$data" "$kill_limit_seconds" || die "process $pid survives SIGKILL"
        fi
    fi
    rm -f "$dir/pgbouncer.env" "$dir/pid"
    remove_base
}

[ $# -eq 2 ] || usage
require_program "$pgbouncer" pgbouncer
require_program "$pg_isready" postgresql-15
run_action "$@"
