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
# shellcheck source=tests/servers/common.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/common.sh"

bin=${POSTROOM_POSTGRES_BIN:-/usr/lib/postgresql/15/bin}
start_limit_seconds=90
port_attempts_max=20

usage() {
    die "usage: postgres.sh start DIR [fast|durable [OWNER]], or status|crash|resume|stop DIR"
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

# Ids of the processes whose parent is $1. A backend rewrites its command line, so the parent
# is what tells a child of this server from those of another.
children_of() {
    local stat fields
    for stat in /proc/[0-9]*/stat; do
        { read -r fields <"$stat"; } 2>/dev/null || continue
        # The second field is the name in parentheses and may hold anything: read on after it.
        read -r _ parent _ <<<"${fields##*) }"
        [ "$parent" = "$1" ] && printf '%s\n' "${fields%% *}"
    done
    return 0
}

# Removes what a killed server leaves behind: the shared memory segment that line 7 of its lock file
# names (key and id), when nobody is attached to it, and the lock files. Where process 1 collects
# orphans late or never (containers), the dead postmaster stays a zombie, and PostgreSQL would take
# lock files that hold its id for those of a running server.
remove_locks() {
    local key id
    if [ -s "$data/postmaster.pid" ]; then
        read -r key id < <(sed -n 7p "$data/postmaster.pid") || true
        if awk -v key="$key" -v id="$id" '$1 == key && $2 == id && $7 == 0 { found = 1 }
                END { exit !found }' /proc/sysvipc/shm 2>/dev/null; then
            ipcrm -m "$id" || true
        fi
    fi
    rm -f "$data/postmaster.pid" "$data"/.s.PGSQL.*
}

# Stopped first, so that the postmaster can start no child between the listing and its end.
kill_server() {
    local postmaster children
    postmaster=$(stored_pid)
    process_runs "$postmaster" "$data" || return 0
    kill -STOP "$postmaster"
    mapfile -t children < <(children_of "$postmaster")
    kill -KILL "$postmaster" "${children[@]}" 2>/dev/null || true
    wait_gone "$postmaster" "$data" 10 || die "process $postmaster survives SIGKILL"
    local child
    for child in "${children[@]}"; do
        wait_gone "$child" postgres 10 || die "process $child survives SIGKILL"
    done
    remove_locks
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
    (cd / && "${run_as[@]}" "$bin/pg_ctl" -D "$data" -w -t "$start_limit_seconds" \
        -o "-p $1" start) </dev/null >>"$dir/server.log" 2>&1 9>&-
}

fail_start() {
    tail -n 20 "$dir/server.log" >&2
    kill_server
    die "$1 (log: $dir/server.log)"
}

# Prints the port of the started server.
run_on_free_port() {
    local port log_length
    for ((attempt = 1; attempt <= port_attempts_max; attempt++)); do
        port=$(pick_port)
        log_length=$(stat -c %s "$dir/server.log")
        if run_postmaster "$port"; then
            printf '%s\n' "$port"
            return 0
        fi
        tail -c "+$((log_length + 1))" "$dir/server.log" | grep -q "could not bind" ||
            fail_start "PostgreSQL did not start"
    done
    fail_start "no free port in $port_attempts_max attempts"
}

record_pid() {
    head -n 1 "$data/postmaster.pid" | write_file "$dir/pid"
}

start() {
    local profile=$1 running port
    if postmaster_runs && accepts_connections; then
        running=$(env_value "$dir/postgres.env" profile)
        [ "$running" = "$profile" ] || die "the server in $dir runs with profile $running"
        return 0
    fi
    stop
    if [ "$profile" = fast ]; then choose_base memory; else choose_base disk; fi
    load_base
    initialize_data "$profile"
    port=$(run_on_free_port)
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

# Stops the server when process $1 has ended without doing so, as a test that crashes does. Ends by
# itself when the server has been stopped.
watch_owner() {
    # shellcheck disable=SC2016  # expanded by the inner shell
    setsid bash -c 'while [ -e "$2/base" ]; do
            kill -0 "$1" 2>/dev/null || exec "$3" stop "$2"
            sleep 0.5
        done' watch_owner "$1" "$dir" "$(realpath "${BASH_SOURCE[0]}")" \
        </dev/null >/dev/null 2>&1 9>&- &
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
    if load_base; then remove_locks; fi
    rm -f "$dir/postgres.env" "$dir/pid"
    remove_base
}

[ $# -ge 2 ] || usage
action=$1
profile=${3:-fast}
owner=${4:-}
case $profile in fast | durable) ;; *) usage ;; esac
for program in initdb pg_ctl postgres pg_isready; do
    require_program "$bin/$program" postgresql-15
done
if [ ! -d "$2" ]; then
    case $action in
        stop) exit 0 ;;
        status) exit 3 ;;
    esac
fi
open_directory "$2"
case $action in
    start)
        start "$profile"
        if [ -n "$owner" ]; then watch_owner "$owner"; fi
        ;;
    status) postmaster_runs && accepts_connections || exit 3 ;;
    crash)
        load_base || die "no server was started in $dir"
        kill_server
        ;;
    resume) resume ;;
    stop) stop ;;
    *) usage ;;
esac
