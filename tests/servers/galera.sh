#!/usr/bin/env bash
# A private Galera cluster of three MariaDB nodes on 127.0.0.1 for the tests.
#
#   galera.sh start DIR [OWNER]   runs three fresh nodes; does nothing if they run
#   galera.sh status DIR          exit 0 when all three run and are synced, 3 when not
#   galera.sh crash DIR NODE      SIGKILL to node 1, 2 or 3; its data stay
#   galera.sh resume DIR NODE     starts a killed node again and waits until it has caught up
#   galera.sh stop DIR            stops the cluster and removes its data
#
# OWNER is the id of a process whose end stops the cluster. DIR/nodeN/nodeN.env names host, port, user
# and password of a node, DIR/nodeN/pid its process, DIR/nodeN/server.log keeps its log.
#
# The nodes begin with copies of the same data, and a node that was killed gets what it has missed from
# the others' write set cache (wsrep_sst_missed.sh): no full copy of a node is ever made, for which Debian has
# the scripts only in a package that also runs a server of the system.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/servers/common.sh
source "$here/common.sh"
# shellcheck source=tests/servers/mariadb_process.sh
source "$here/mariadb_process.sh"

provider=${POSTROOM_GALERA:-/usr/lib/galera/libgalera_smm.so}
start_attempts_max=3

usage() {
    die "usage: galera.sh start DIR [OWNER], status|stop DIR, or crash|resume DIR NODE"
}

node_pid() {
    head -n 1 "$dir/node$1/pid" 2>/dev/null
}

node_runs() {
    load_base && process_runs "$(node_pid "$1")" "$data/node$1"
}

node_port() {  # NODE sql|group|transfer
    env_value "$dir/node$1/ports" "$2"
}

is_synced() {
    [[ $(root_sql "$data/node$1" "SHOW STATUS LIKE 'wsrep_local_state_comment'" 2>/dev/null) == *Synced ]] &&
        answers "$data/node$1" "$(node_port "$1" sql)"
}

choose_node_settings() {
    local node=$1 group
    group=$(node_port "$node" group)
    choose_settings fast
    settings+=(
        --wsrep-on=ON --wsrep-provider="$provider" --wsrep-cluster-name=postroom-test
        --wsrep-node-name="node$node" --wsrep-node-address="127.0.0.1:$group" --wsrep-sst-method=missed
        --wsrep-cluster-address="gcomm://$(for n in 1 2 3; do printf '127.0.0.1:%s,' "$(node_port $n group)"; done)"
        --wsrep-provider-options="gmcast.listen_addr=tcp://127.0.0.1:$group;ist.recv_addr=127.0.0.1:$(
            node_port "$node" transfer);gcache.size=128M"
        --wsrep-slave-threads=2 --binlog-format=ROW --innodb-autoinc-lock-mode=2
        --innodb-buffer-pool-size=128M
    )
}

# Starts node $1, further settings after that, and waits until it has joined.
run_node() {
    local node=$1
    shift
    choose_node_settings "$node"
    # mariadbd looks for the script of its method along the path.
    PATH=$data/bin:$PATH run_mariadbd "$data/node$node" "$(node_port "$node" sql)" \
        "$dir/node$node/server.log" "${settings[@]}" "$@"
    printf '%s\n' "$server_pid" | write_file "$dir/node$node/pid"
    wait_for_server "$server_pid" is_synced "$node"
}

choose_ports() {
    local node ports
    mapfile -t ports < <(for _ in {1..40}; do pick_port; done | sort -u | shuf | head -n 9)
    for node in 1 2 3; do
        mkdir -p "$dir/node$node"
        : >"$dir/node$node/server.log"
        write_file "$dir/node$node/ports" <<PORTS
sql=${ports[3 * (node - 1)]}
group=${ports[3 * (node - 1) + 1]}
transfer=${ports[3 * (node - 1) + 2]}
PORTS
    done
}

write_env() {
    write_file "$dir/node$1/node$1.env" <<ENV
host=127.0.0.1
port=$(node_port "$1" sql)
user=$test_user
password=$test_password
data=$data/node$1
ENV
}

# Node 1 founds the cluster alone, ends in good order, and is copied: so all three have its position.
prepare_data() {
    local log=$dir/node1/server.log
    mkdir -m 700 "$data/node1" && chown "$server_owner" "$data/node1"
    install_data "$data/node1" "$log" &&
        run_node_alone &&
        root_sql "$data/node1" "$account_sql" >>"$log" 2>&1 || return 1
    end_server "$(node_pid 1)" "$data/node1"
    cp -a "$data/node1" "$data/node2" && cp -a "$data/node1" "$data/node3"
}

run_node_alone() {
    choose_node_settings 1
    run_mariadbd "$data/node1" "$(node_port 1 sql)" "$dir/node1/server.log" "${settings[@]}" --wsrep-new-cluster
    printf '%s\n' "$server_pid" | write_file "$dir/node1/pid"
    wait_for_server "$server_pid" founded
}

# The account of the tests is not there yet.
founded() {
    [[ $(root_sql "$data/node1" "SHOW STATUS LIKE 'wsrep_ready'" 2>/dev/null) == *ON ]]
}

start_once() {
    choose_base memory
    load_base
    install -D -m 755 -T "$here/wsrep_sst_missed.sh" "$data/bin/wsrep_sst_missed"
    choose_ports
    prepare_data && run_node 1 --wsrep-new-cluster && run_node 2 && run_node 3
}

status() {
    local node
    for node in 1 2 3; do
        node_runs "$node" && is_synced "$node" || return 1
    done
}

start() {
    local owner=${1:-} attempt node
    if status; then
        watch_owner "$owner"
        return 0
    fi
    for ((attempt = 1; attempt <= start_attempts_max; attempt++)); do
        stop
        if start_once; then
            for node in 1 2 3; do write_env "$node"; done
            watch_owner "$owner"
            return 0
        fi
        # Another program may have taken one of the nine ports in between.
        grep -qiE "bind on tcp|address already in use" "$dir"/node?/server.log || break
    done
    for node in 1 2 3; do
        printf '== node %s\n' "$node" >&2
        tail -n 20 "$dir/node$node/server.log" >&2
    done
    stop
    die "the cluster did not start (logs: $dir/node?/server.log)"
}

# Where the killed node $1 stopped, as its storage engine knows it.
recovered_position() {
    local log=$dir/node$1/recovery.log
    choose_node_settings "$1"
    (cd / && "${run_as[@]}" timeout -k 5 "$start_limit_seconds" "$mariadbd" --no-defaults \
        --datadir="$data/node$1" --tmpdir="$data/node$1" --socket="$data/node$1/recovery" \
        "${settings[@]}" --skip-networking --wsrep-recover) </dev/null >"$log" 2>&1 9>&- || return 0
    sed -n 's/.*Recovered position: *//p' "$log" | tail -n 1
}

resume() {
    local position
    if [ ! -s "$dir/node$1/node$1.env" ] || ! load_base; then die "no cluster was started in $dir"; fi
    if node_runs "$1"; then return 0; fi
    position=$(recovered_position "$1")
    [ -n "$position" ] || die "the position of node $1 is unknown (log: $dir/node$1/recovery.log)"
    if ! run_node "$1" --wsrep-start-position="$position"; then
        tail -n 20 "$dir/node$1/server.log" >&2
        die "node $1 did not come back (log: $dir/node$1/server.log)"
    fi
}

crash() {
    load_base || die "no cluster was started in $dir"
    kill_server "$(node_pid "$1")" "$data/node$1"
}

# The data go with them, so there is nothing to end in good order.
stop() {
    local node
    for node in 1 2 3; do
        if node_runs "$node"; then kill_server "$(node_pid "$node")" "$data/node$node"; fi
        rm -f "$dir/node$node/node$node.env" "$dir/node$node/pid"
    done
    remove_base
}

[ $# -ge 2 ] || usage
require_mariadb
[ -r "$provider" ] || die "missing $provider: install the Debian package galera-4"
case $1 in crash | resume) [[ ${3:-} =~ ^[123]$ ]] || usage ;; esac
run_action "$@"
