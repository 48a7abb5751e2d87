#!/usr/bin/env bash
# A private PostgreSQL cluster of three nodes under Patroni, with one etcd, on 127.0.0.1 for the tests.
#
#   patroni.sh start DIR [MODE [OWNER]]   runs three fresh nodes; does nothing if they run
#   patroni.sh status DIR                 exit 0 when one leads and the others follow it, 3 when not
#   patroni.sh await DIR                  waits until it is so
#   patroni.sh crash DIR NODE [LAG_MS]    SIGKILL to Patroni and PostgreSQL of node 1, 2 or 3; its data stay
#   patroni.sh resume DIR NODE            starts a killed node again
#   patroni.sh switch DIR                 hands the lead to a standby in good order
#   patroni.sh stop DIR                   stops the cluster and removes its data
#
# MODE is synchronous (default), where a commit is confirmed once a standby has it, whatever happens, or asynchronous.
# With LAG_MS the standbys get nothing for so long before the kill: what was confirmed meanwhile is lost with the node.
# OWNER is the id of a process whose end stops the cluster. DIR/nodeN/nodeN.env names host, port and user of a node,
# DIR/nodeN/pid its Patroni, DIR/nodeN/server.log keeps the log of that and DIR/nodeN/postgres.log of PostgreSQL.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/servers/common.sh
source "$here/common.sh"
# shellcheck source=tests/servers/postgres_process.sh
source "$here/postgres_process.sh"

etcd=/usr/bin/etcd
patroni=/usr/bin/patroni
patronictl=/usr/bin/patronictl
start_attempts_max=3
whole_limit_seconds=120

usage() {
    die "usage: patroni.sh start DIR [synchronous|asynchronous [OWNER]], status|await|switch|stop DIR," \
        "crash DIR NODE [LAG_MS], or resume DIR NODE"
}

port_of() {  # etcd|etcd_peers|nodeN|nodeN_api
    env_value "$dir/ports" "$1"
}

choose_ports() {
    local names=(etcd etcd_peers node{1,2,3} node{1,2,3}_api) ports
    mapfile -t ports < <(for _ in {1..40}; do pick_port; done | sort -u | shuf | head -n "${#names[@]}")
    paste -d= <(printf '%s\n' "${names[@]}") <(printf '%s\n' "${ports[@]}") | write_file "$dir/ports"
}

# Starts `$2...` in the background with its output in the file $1, and prints its id.
run_detached() {
    local log=$1
    shift
    (cd / && exec setsid "${run_as[@]}" "$@") </dev/null >>"$log" 2>&1 9>&- &
    printf '%s\n' $!
}

run_etcd() {
    local url=http://127.0.0.1
    run_detached "$dir/etcd.log" "$etcd" --name test --data-dir "$data/etcd" \
        --listen-client-urls "$url:$(port_of etcd)" --advertise-client-urls "$url:$(port_of etcd)" \
        --listen-peer-urls "$url:$(port_of etcd_peers)" --initial-advertise-peer-urls "$url:$(port_of etcd_peers)" \
        --initial-cluster "test=$url:$(port_of etcd_peers)" --logger zap --log-level warn |
        write_file "$dir/etcd.pid"
}

# Whoever leads is missed after five seconds, not thirty, so that a hundred fail-overs do not take all day. Sockets are
# outside of the data folder, or pg_rewind would fail over them.
write_node() {  # NODE MODE
    local node=$1 synchronous=false
    [ "$2" = synchronous ] && synchronous=true
    mkdir -p "$dir/node$node"
    : >"$dir/node$node/server.log"
    mkdir -m 700 "$data/node$node" && chown "$server_owner" "$data/node$node"
    write_file "$dir/node$node/node$node.env" <<ENV
host=127.0.0.1
port=$(port_of "node$node")
user=postroom
data=$data/node$node/pg
ENV
    write_file "$data/node$node.yml" <<YAML
scope: postroom-test
name: node$node
restapi: {listen: '127.0.0.1:$(port_of "node${node}_api")', connect_address: '127.0.0.1:$(port_of "node${node}_api")'}
etcd3: {host: '127.0.0.1:$(port_of etcd)'}
bootstrap:
  dcs:
    ttl: 5
    loop_wait: 1
    retry_timeout: 2
    maximum_lag_on_failover: 1073741824
    synchronous_mode: $synchronous
    synchronous_mode_strict: $synchronous
    postgresql:
      use_pg_rewind: true
      parameters:
        wal_level: replica
        hot_standby: 'on'
        max_connections: 200
        max_wal_senders: 10
        wal_keep_size: 256MB
        # A standby looks for its new leader that often; by default every five seconds.
        wal_retrieve_retry_interval: 500ms
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, data-checksums, no-sync]
postgresql:
  listen: 127.0.0.1:$(port_of "node$node")
  connect_address: 127.0.0.1:$(port_of "node$node")
  data_dir: $data/node$node/pg
  bin_dir: $bin
  pgpass: $data/node$node/pgpass
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
  authentication:
    superuser: {username: postroom}
    replication: {username: replicator}
  pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust']
  basebackup: [{checkpoint: fast}, no-sync]
  parameters:
    unix_socket_directories: $data/node$node
    fsync: 'off'
    shared_buffers: 64MB
    dynamic_shared_memory_type: mmap
    logging_collector: 'off'
    log_line_prefix: '%m [%p] %d '
watchdog: {mode: 'off'}
YAML
    chmod 644 "$data/node$node.yml"
}

run_node() {
    run_detached "$dir/node$1/server.log" env PYTHONUNBUFFERED=1 "$patroni" "$data/node$1.yml" |
        write_file "$dir/node$1/pid"
}

pid_in() {
    head -n 1 "$1" 2>/dev/null
}

patroni_runs() {
    load_base && process_runs "$(pid_in "$dir/node$1/pid")" "$data/node$1.yml"
}

node_sql() {  # NODE QUERY
    PGCONNECT_TIMEOUT=5 psql -XAtq -h 127.0.0.1 -p "$(port_of "node$1")" -U postroom -d postgres -c "$2" 2>/dev/null
}

# What Patroni of node $1 knows of the cluster.
view_of() {
    { exec 8<>"/dev/tcp/127.0.0.1/$(port_of "node$1_api")"; } 2>/dev/null || return 1
    printf 'GET /cluster HTTP/1.0\r\n\r\n' >&8
    timeout 5 cat <&8
    exec 8>&-
}

# One leads, both others get what it writes, and Patroni knows which one may take over.
leads_whole_cluster() {
    local wanted='0 2'
    [ "$(cat "$dir/mode")" = synchronous ] && wanted='1 2'
    [ "$(node_sql "$1" "SELECT count(*) FILTER (WHERE sync_state = 'sync') || ' ' || count(*) FROM pg_stat_replication
            WHERE state = 'streaming' AND application_name LIKE 'node_' AND NOT pg_is_in_recovery()")" = "$wanted" ] ||
        return 1
    [ "$(view_of "$1" | grep -o '"role": "[a-z_]*"' | sort | uniq -c | awk '{ print $1 $3 }' | tr -d '\n')" = \
        "$(if [ "$wanted" = '1 2' ]; then echo '1"leader"1"replica"1"sync_standby"'; else echo '1"leader"2"replica"'; fi)" ]
}

status() {
    local node
    load_base && [ -s "$dir/ports" ] && process_runs "$(pid_in "$dir/etcd.pid")" "$data/etcd" || return 1
    for node in 1 2 3; do patroni_runs "$node" || return 1; done
    for node in 1 2 3; do
        if leads_whole_cluster "$node"; then return 0; fi
    done
    return 1
}

is_whole_within() {
    local deadline=$((SECONDS + $1))
    until status; do
        ((SECONDS < deadline)) || return 1
        sleep 0.1
    done
}

show_logs() {
    local log
    for log in "$dir/etcd.log" "$dir"/node?/server.log; do
        printf '== %s\n' "$log" >&2
        tail -n 15 "$log" >&2
    done
}

await() {
    is_whole_within "$whole_limit_seconds" && return 0
    show_logs
    die "after $whole_limit_seconds s the cluster has not one leader and two that follow it"
}

start_once() {
    local node
    choose_base memory
    load_base
    printf '%s\n' "$1" | write_file "$dir/mode"
    choose_ports
    : >"$dir/etcd.log"
    run_etcd
    for node in 1 2 3; do write_node "$node" "$1" && run_node "$node"; done
    is_whole_within "$whole_limit_seconds"
}

start() {
    local mode=${1:-synchronous} owner=${2:-} attempt
    case $mode in synchronous | asynchronous) ;; *) usage ;; esac
    if status; then
        [ "$(cat "$dir/mode")" = "$mode" ] || die "the cluster in $dir is $(cat "$dir/mode")"
        watch_owner "$owner"
        return 0
    fi
    for ((attempt = 1; attempt <= start_attempts_max; attempt++)); do
        stop
        if start_once "$mode"; then
            watch_owner "$owner"
            return 0
        fi
        # Another program may have taken one of the ports in between.
        grep -qiE "could not bind|address already in use" "$dir"/etcd.log "$dir"/node?/server.log || break
    done
    show_logs
    stop
    die "the cluster did not start (logs: $dir/etcd.log, $dir/node?/server.log)"
}

postmaster_of() {
    pid_in "$data/node$1/pg/postmaster.pid" || true
}

# Holds back what the leader sends to its standbys.
stop_sending() {
    local pid
    for pid in $(children_of "$(postmaster_of "$1")"); do
        if process_runs "$pid" walsender; then kill -STOP "$pid"; fi
    done
}

# Patroni first, and stopped first: it would start PostgreSQL again, or give up the lead in good order.
crash() {
    local node=$1 lag_ms=${2:-0} supervisor
    load_base || die "no cluster was started in $dir"
    supervisor=$(pid_in "$dir/node$node/pid")
    if ((lag_ms > 0)); then
        stop_sending "$node"
        sleep "$((lag_ms / 1000)).$(printf '%03d' $((lag_ms % 1000)))"
    fi
    if patroni_runs "$node"; then
        kill -STOP "$supervisor"
        kill_postmaster "$(postmaster_of "$node")" "$data/node$node/pg"
        # What it runs now and then, such as pg_rewind, too.
        mapfile -t running < <(children_of "$supervisor")
        kill -KILL "$supervisor" "${running[@]}" 2>/dev/null || true
        wait_gone "$supervisor" "$data/node$node.yml" "$kill_limit_seconds" || die "process $supervisor survives SIGKILL"
    fi
    kill_postmaster "$(postmaster_of "$node")" "$data/node$node/pg"
    remove_locks "$data/node$node/pg" "$data/node$node"
}

resume() {
    if [ ! -s "$dir/ports" ] || ! load_base; then die "no cluster was started in $dir"; fi
    patroni_runs "$1" || run_node "$1"
}

switch() {
    load_base || die "no cluster was started in $dir"
    "${run_as[@]}" timeout 60 env HOME="$data" "$patronictl" -c "$data/node1.yml" switchover --force >"$dir/switch.log" 2>&1 9>&- &&
        grep -q 'Successfully switched over' "$dir/switch.log" && return 0
    cat "$dir/switch.log" >&2
    die "the lead could not be handed over"
}

# The data go with them, so there is nothing to end in good order.
stop() {
    local node supervisor
    if load_base; then
        for node in 1 2 3; do crash "$node"; done
        supervisor=$(pid_in "$dir/etcd.pid") || true
        if process_runs "$supervisor" "$data/etcd"; then
            kill -KILL "$supervisor"
            wait_gone "$supervisor" "$data/etcd" "$kill_limit_seconds" || die "process $supervisor survives SIGKILL"
        fi
    fi
    rm -f "$dir"/node?/node?.env "$dir"/node?/pid "$dir/etcd.pid" "$dir/ports" "$dir/mode"
    remove_base
}

[ $# -ge 2 ] || usage
require_program "$etcd" etcd-server
require_program "$patroni" patroni
for program in initdb postgres pg_rewind pg_basebackup; do require_program "$bin/$program" postgresql-15; done
case $1 in crash | resume) [[ ${3:-} =~ ^[123]$ ]] || usage ;; esac
run_action "$@"
