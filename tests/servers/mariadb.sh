#!/usr/bin/env bash
# A private MariaDB 10.11 on 127.0.0.1 for the tests.
#
#   mariadb.sh start DIR [PROFILE [OWNER]]  runs a fresh server; does nothing if it runs
#   mariadb.sh status DIR                   exit 0 when it runs, 3 when not
#   mariadb.sh crash DIR                    SIGKILL; data stay
#   mariadb.sh resume DIR                   starts a crashed server again, same data and same port
#   mariadb.sh stop DIR                     stops it and removes its data
#
# PROFILE is fast (default) or durable. OWNER is the id of a process whose end stops the server.
# DIR/mariadb.env names host, port, user and password, DIR/pid the process, DIR/server.log keeps the
# log of the last run. The profile `durable` flushes every commit to the disk.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/servers/common.sh
source "$here/common.sh"
# shellcheck source=tests/servers/mariadb_process.sh
source "$here/mariadb_process.sh"

usage() {
    die "usage: mariadb.sh start DIR [fast|durable [OWNER]], clock DIR OFFSET, or status|crash|resume|stop DIR"
}

stored_pid() {
    head -n 1 "$dir/pid" 2>/dev/null
}

server_runs() {
    load_base && process_runs "$(stored_pid)" "$data"
}

accepts_connections() {
    answers "$data" "$(env_value "$dir/mariadb.env" port)"
}

fail_start() {
    tail -n 20 "$dir/server.log" >&2
    kill_server "$(stored_pid)" "$data"
    die "$1 (log: $dir/server.log)"
}

# Starts the server on port $1 and waits until $2... succeeds; fails when it ends first.
run_server() {
    local port=$1
    shift
    run_mariadbd "$data" "$port" "$dir/server.log" "${settings[@]}"
    printf '%s\n' "$server_pid" | write_file "$dir/pid"
    wait_for_server "$server_pid" "$@"
}

socket_answers() {
    root_sql "$data" 'SELECT 1' >/dev/null 2>&1
}

run_fresh_server() {
    run_server "$1" socket_answers
}

status() {
    server_runs && accepts_connections
}

start_fresh() {
    local profile=$1 port
    : >"$dir/server.log"
    install_data "$data" "$dir/server.log" || fail_start "mariadb-install-db failed"
    choose_settings "$profile"
    start_on_free_port "Bind on TCP/IP port" run_fresh_server
    root_sql "$data" "$account_sql" >>"$dir/server.log" 2>&1 || fail_start "the accounts cannot be made"
    write_file "$dir/mariadb.env" <<ENV
host=127.0.0.1
port=$port
user=$test_user
password=$test_password
data=$data
profile=$profile
ENV
    wait_for_server "$(stored_pid)" accepts_connections || fail_start "MariaDB accepts no connections"
}

start() {
    start_with_profile "${1:-fast}"
    watch_owner "${2:-}"
}

crash() {
    load_base || die "no server was started in $dir"
    kill_server "$(stored_pid)" "$data"
}

resume() {
    local port
    port=$(env_value "$dir/mariadb.env" port)
    if [ -z "$port" ] || ! load_base; then die "no server was started in $dir"; fi
    if server_runs; then return 0; fi
    choose_settings "$(env_value "$dir/mariadb.env" profile)"
    run_server "$port" accepts_connections || fail_start "MariaDB did not start again"
}

# The data go with it, so there is nothing to end in good order.
stop() {
    if server_runs; then kill_server "$(stored_pid)" "$data"; fi
    rm -f "$dir/mariadb.env" "$dir/pid"
    remove_base
}

[ $# -ge 2 ] || usage
require_mariadb
run_action "$@"
