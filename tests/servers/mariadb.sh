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
    die "usage: mariadb.sh start DIR [fast|durable [OWNER]], or status|crash|resume|stop DIR"
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

# Sets `port` to that of the started server.
run_on_free_port() {
    local log_length
    for ((attempt = 1; attempt <= port_attempts_max; attempt++)); do
        port=$(pick_port)
        log_length=$(stat -c %s "$dir/server.log")
        if run_server "$port" socket_answers; then return 0; fi
        tail -c "+$((log_length + 1))" "$dir/server.log" | grep -q "Bind on TCP/IP port" ||
            fail_start "MariaDB did not start"
    done
    fail_start "no free port in $port_attempts_max attempts"
}

start() {
    local profile=$1 running port
    if server_runs && accepts_connections; then
        running=$(env_value "$dir/mariadb.env" profile)
        [ "$running" = "$profile" ] || die "the server in $dir runs with profile $running"
        return 0
    fi
    stop
    if [ "$profile" = fast ]; then choose_base memory; else choose_base disk; fi
    load_base
    : >"$dir/server.log"
    install_data "$data" "$dir/server.log" || fail_start "mariadb-install-db failed"
    choose_settings "$profile"
    run_on_free_port
    root_sql "$data" "$account_sql" >>"$dir/server.log" 2>&1 || fail_start "the accounts cannot be made"
    write_file "$dir/mariadb.env" <<ENV
host=127.0.0.1
port=$port
user=$test_user
password=$test_password
data=$data
profile=$profile
ENV
    accepts_connections || fail_start "MariaDB accepts no connections"
}

# Stops the server when process $1 has ended without doing so, as a test that crashes does. Ends by
# itself when the server has been stopped.
watch_owner() {
    # shellcheck disable=SC2016  # expanded by the inner shell
    setsid bash -c 'while [ -e "$2/base" ]; do
            kill -0 "$1" 2>/dev/null || exec "$3" stop "$2"
            sleep 0.5
        done' watch_owner "$1" "$dir" "$here/mariadb.sh" \
        </dev/null >/dev/null 2>&1 9>&- &
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
action=$1
profile=${3:-fast}
owner=${4:-}
case $profile in fast | durable) ;; *) usage ;; esac
require_mariadb
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
    status) server_runs && accepts_connections || exit 3 ;;
    crash)
        load_base || die "no server was started in $dir"
        kill_server "$(stored_pid)" "$data"
        ;;
    resume) resume ;;
    stop) stop ;;
    *) usage ;;
esac
