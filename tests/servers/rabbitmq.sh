#!/usr/bin/env bash
# A private RabbitMQ on 127.0.0.1 for the tests.
#
#   rabbitmq.sh start DIR [OWNER]  runs a fresh server; does nothing if it runs
#   rabbitmq.sh status DIR         exit 0 when it runs, 3 when not
#   rabbitmq.sh crash DIR          SIGKILL; data stay
#   rabbitmq.sh resume DIR         starts a crashed server again, same data and same port
#   rabbitmq.sh stop DIR           stops it and removes its data
#
# OWNER is the id of a process whose end stops the server. DIR/rabbitmq.env names host, port, user and
# password, DIR/pid the process, DIR/server.log keeps the log. The server's name service (epmd) is one of
# its own, on a port of its own, and ends with it.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/servers/common.sh
source "$here/common.sh"

server_program=/usr/lib/rabbitmq/bin/rabbitmq-server
epmd_program=/usr/bin/epmd
start_seconds_max=150

usage() {
    die "usage: rabbitmq.sh start DIR [OWNER], or status|crash|resume|stop DIR"
}

stored_pid() {
    head -n 1 "$dir/$1" 2>/dev/null || true
}

server_runs() {
    load_base && process_runs "$(stored_pid pid)" "$data"
}

# A server that is ready answers the AMQP greeting.
answers() {
    local greeting
    greeting=$( { exec 3<>"/dev/tcp/127.0.0.1/$1" && printf 'AMQP\0\0\x09\x01' >&3 &&
        timeout 5 head -c 8 <&3 | tr -d '\0' | head -c 1; } 2>/dev/null) || return 1
    [ -n "$greeting" ]
}

fail_start() {
    tail -n 20 "$dir/server.log" >&2
    kill_all
    die "$1 (log: $dir/server.log)"
}

kill_process() {  # <pid> <what its command line holds>
    process_runs "$1" "$2" || return 0
    kill -KILL "$1" 2>/dev/null || true
    wait_gone "$1" "$2" "$kill_limit_seconds" || die "process $1 does not end"
}

kill_all() {
    load_base || return 0
    kill_process "$(stored_pid pid)" "$data"
    kill_process "$(stored_pid epmd_pid)" "$(stored_pid epmd_port)"
}

write_config() {  # <amqp port>
    write_file "$data/rabbitmq.conf" <<CONF
listeners.tcp.1 = 127.0.0.1:$1
default_user = postroom
default_pass = postroom-test
loopback_users = none
log.file = false
log.console = true
log.console.level = warning
disk_free_limit.absolute = 10MB
CONF
    printf '[].\n' >"$data/enabled_plugins"
    chown -R "$server_owner" "$data"
}

start_epmd() {
    local port
    port=$(pick_port)
    (cd / && exec setsid "${run_as[@]}" "$epmd_program" -port "$port" -address 127.0.0.1 \
        </dev/null >>"$dir/server.log" 2>&1 9>&-) &
    printf '%s\n' "$!" | write_file "$dir/epmd_pid"
    printf '%s\n' "$port" | write_file "$dir/epmd_port"
}

# Starts the server on port $1 and waits until it answers; fails when it ends first.
run_server() {
    local port=$1 dist_port pid deadline
    dist_port=$(pick_port)
    rm -f "$data/server.pid"
    start_epmd
    # The data directory on the command line is what process_runs knows the server by.
    (cd / && exec setsid "${run_as[@]}" env -i PATH="$PATH" LANG=C.UTF-8 HOME="$data" \
        RABBITMQ_NODENAME="postroom_$port@localhost" \
        RABBITMQ_MNESIA_BASE="$data/mnesia" RABBITMQ_LOG_BASE="$data" \
        RABBITMQ_CONFIG_FILE="$data/rabbitmq" RABBITMQ_ENABLED_PLUGINS_FILE="$data/enabled_plugins" \
        RABBITMQ_DIST_PORT="$dist_port" RABBITMQ_CONF_ENV_FILE=/dev/null \
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S 1:1 -postroom_data $data -kernel inet_dist_use_interface {127,0,0,1}" \
        RABBITMQ_PID_FILE="$data/server.pid" \
        ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT="$(stored_pid epmd_port)" \
        "$server_program" </dev/null >>"$dir/server.log" 2>&1 9>&-) &
    pid=$!
    deadline=$((SECONDS + start_seconds_max))
    until [ -s "$data/server.pid" ] && answers "$port"; do
        if ! kill -0 "$pid" 2>/dev/null || ((SECONDS > deadline)); then return 1; fi
        sleep 0.1
    done
    head -n 1 "$data/server.pid" | write_file "$dir/pid"
}

status() {
    server_runs && answers "$(env_value "$dir/rabbitmq.env" port)"
}

run_fresh_server() {
    kill_all
    write_config "$1"
    run_server "$1"
}

start() {
    local owner=${1:-} port
    if status; then
        watch_owner "$owner"
        return 0
    fi
    stop
    choose_base disk
    load_base
    : >"$dir/server.log"
    start_on_free_port eaddrinuse run_fresh_server
    write_file "$dir/rabbitmq.env" <<ENV
host=127.0.0.1
port=$port
user=postroom
password=postroom-test
ENV
    watch_owner "$owner"
}

resume() {
    local port
    port=$(env_value "$dir/rabbitmq.env" port)
    if [ -z "$port" ] || ! load_base; then die "no server was started in $dir"; fi
    if server_runs; then return 0; fi
    run_server "$port" || fail_start "RabbitMQ did not start again"
}

crash() {
    load_base || die "no server was started in $dir"
    kill_all
}

# The data go with it, so there is nothing to end in good order.
stop() {
    kill_all
    rm -f "$dir/rabbitmq.env" "$dir/pid" "$dir/epmd_pid" "$dir/epmd_port"
    remove_base
}

[ $# -ge 2 ] || usage
require_program "$server_program" rabbitmq-server
require_program "$epmd_program" erlang-base
run_action "$@"
