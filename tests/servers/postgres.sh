#!/usr/bin/env bash
# A private PostgreSQL 15 on 127.0.0.1 for the tests.
#
#   postgres.sh start DIR [PROFILE [OWNER]]  runs a fresh server; does nothing if it runs
#   postgres.sh status DIR                   exit 0 when it runs, 3 when not
#   postgres.sh crash DIR                    SIGKILL to postmaster and all its children; data stay
#   postgres.sh resume DIR                   starts a crashed server again, same data and same port
#   postgres.sh stop DIR                     stops it and removes its data
#
# PROFILE is fast (default) or durable. OWNER is the id of a process whose end stops the server.
# DIR/postgres.env names host, port and user, DIR/pid the postmaster, DIR/server.log keeps the log
# of the last run. The profile `durable` turns fsync on, for crash tests and measurements.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/servers/common.sh
source "$here/common.sh"
# shellcheck source=tests/servers/postgres_process.sh
source "$here/postgres_process.sh"

usage() {
    die "usage: postgres.sh start DIR [fast|durable [OWNER]], clock DIR OFFSET, or status|crash|resume|stop DIR"
}

# The postmaster's id: ours, or PostgreSQL's own note when a start was cut short before ours.
stored_pid() {
    if [ -s "$dir/pid" ]; then
        head -n 1 "$dir/pid"
    elif [ -s "$data/postmaster.pid" ]; then
        head -n 1 "$data/postmaster.pid"
    fi
}

postmaster_runs() {
    load_base && process_runs "$(stored_pid)" "$data"
}

accepts_connections() {
    "$bin/pg_isready" -q -t 10 -h 127.0.0.1 -p "$(env_value "$dir/postgres.env" port)" \
        -U postroom -d postgres
}

kill_server() {
    local postmaster
    postmaster=$(stored_pid)
    process_runs "$postmaster" "$data" || return 0
    kill_postmaster "$postmaster" "$data"
    remove_locks "$data" "$data"
}

write_settings() {
    local fsync=off
    [ "$1" = durable ] && fsync=on
    # Dynamic shared memory as files below the data directory: a killed server leaves none outside.
    cat >>"$data/postgresql.conf" <<SETTINGS
listen_addresses = '127.0.0.1'
unix_socket_directories = '$data'
fsync = $fsync
synchronous_commit = on
max_connections = 200
max_prepared_transactions = 0
shared_buffers = 128MB
dynamic_shared_memory_type = mmap
wal_level = replica
autovacuum = on
log_line_prefix = '%m [%p] %d '
SETTINGS
}

initialize_data() {
    (cd / && "${run_as[@]}" timeout -k 5 "$start_limit_seconds" "$bin/initdb" -D "$data" \
        -U postroom -A trust --no-sync -E UTF8 --locale=C.UTF-8) \
        </dev/null >"$dir/server.log" 2>&1 9>&- || fail_start "initdb failed"
    write_settings "$1"
}

# The log is opened here, not by the server, whose user may be unable to enter DIR.
run_postmaster() {
    local clock
    mapfile -t clock < <(faked_clock "$data")
    (cd / && "${run_as[@]}" env "${clock[@]}" "$bin/pg_ctl" -D "$data" -w -t "$start_limit_seconds" \
        -o "-p $1" start) </dev/null >>"$dir/server.log" 2>&1 9>&-
}

fail_start() {
    tail -n 20 "$dir/server.log" >&2
    kill_server
    die "$1 (log: $dir/server.log)"
}

record_pid() {
    head -n 1 "$data/postmaster.pid" | write_file "$dir/pid"
}

status() {
    postmaster_runs && accepts_connections
}

start_fresh() {
    local profile=$1 port
    initialize_data "$profile"
    start_on_free_port "could not bind" run_postmaster
    record_pid
    write_file "$dir/postgres.env" <<ENV
host=127.0.0.1
port=$port
user=postroom
data=$data
profile=$profile
ENV
    accepts_connections || fail_start "PostgreSQL accepts no connections"
}

start() {
    start_with_profile "${1:-fast}"
    watch_owner "${2:-}"
}

crash() {
    load_base || die "no server was started in $dir"
    kill_server
}

resume() {
    local port
    port=$(env_value "$dir/postgres.env" port)
    if [ -z "$port" ] || ! load_base; then die "no server was started in $dir"; fi
    if postmaster_runs; then return 0; fi
    rm -f "$dir/pid"
    run_postmaster "$port" || fail_start "PostgreSQL did not start again"
    record_pid
    accepts_connections || fail_start "PostgreSQL accepts no connections"
}

stop() {
    if postmaster_runs; then
        (cd / && "${run_as[@]}" "$bin/pg_ctl" -D "$data" -m immediate -t 10 stop) \
            </dev/null >>"$dir/server.log" 2>&1 9>&- || kill_server
    fi
    if load_base; then remove_locks "$data" "$data"; fi
    rm -f "$dir/postgres.env" "$dir/pid"
    remove_base
}

[ $# -ge 2 ] || usage
for program in initdb pg_ctl postgres pg_isready; do
    require_program "$bin/$program" postgresql-15
done
run_action "$@"
