#!/usr/bin/env bash
# A private MySQL 9 on 127.0.0.1 for the tests, from a newer Debian release that lives in a folder of its own.
#
#   mysql.sh start DIR    runs a fresh server; does nothing if it runs
#   mysql.sh status DIR   exit 0 when it runs, 3 when not
#   mysql.sh stop DIR     stops it and removes its data
#
# DIR/mysql.env names host, port, user, password and the file of the certificate authority, DIR/pid the
# process, DIR/server.log keeps the log. Only TLS connections are accepted, and accounts have the server's
# default authentication, caching_sha2_password.
#
# The first call downloads the server and what it needs (330 MB, half a minute) from the mirror that this
# machine's own packages come from, into build/mysql-chroot, where all later calls find it. That needs root,
# as chroot does; the server itself runs as nobody.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/servers/common.sh
source "$here/common.sh"
# shellcheck source=tests/servers/mirror.sh
source "$here/mirror.sh"
# shellcheck source=tests/servers/mariadb_process.sh
source "$here/mariadb_process.sh"

release=sid  # the only one with MySQL in it
package=mysql-server-core
chroot=${POSTROOM_MYSQL_CHROOT:-$(realpath "$here/../..")/build/mysql-chroot}

usage() {
    die "usage: mysql.sh start|status|stop DIR"
}

# Packages are unpacked, not set up: what the server needs besides is made here.
build_chroot() {
    local source draft=$chroot.new
    require_program /usr/bin/mmdebstrap mmdebstrap
    source=$(mirror)
    [ -n "$source" ] || die "apt knows no mirror of this Debian release"
    rm -rf --one-file-system "$draft"
    # The release file of an ever-changing suite is out of date on a mirror that stands still.
    mmdebstrap --mode=root --variant=extract --include="$package" \
        --aptopt='Acquire::Check-Valid-Until "false"' "$release" "$draft" "$source" \
        >"$dir/chroot.log" 2>&1 9>&- || {
        tail -n 20 "$dir/chroot.log" >&2
        die "the packages could not be unpacked (log: $dir/chroot.log)"
    }
    ln -sfn usr/lib "$draft/lib"
    ln -sfn usr/lib64 "$draft/lib64"
    mkdir -p "$draft/srv"
    chmod 1777 "$draft/tmp"
    printf 'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n' >"$draft/etc/passwd"
    printf 'nogroup:x:65534:\n' >"$draft/etc/group"
    mv "$draft" "$chroot"
}

ensure_chroot() {
    mkdir -p "$(dirname "$chroot")"
    (
        flock -w 300 8 || die "another call has been unpacking $chroot for 300 s"
        [ -x "$chroot/usr/sbin/mysqld" ] || build_chroot
    ) 8>"$chroot.lock"
}

# Sets `home`, the server's folder as it sees it, and `data` below it; fails when there is none.
load_home() {
    [ -s "$dir/home" ] || return 1
    home=$(head -n 1 "$dir/home")
    [[ $home =~ ^/srv/postroom-server\.[A-Za-z0-9]{6}$ ]] || die "unexpected path '$home' in $dir/home"
    data=$home/data
}

server_runs() {
    load_home && process_runs "$(head -n 1 "$dir/pid" 2>/dev/null)" "$data"
}

accepts_connections() {
    client_options=(--ssl-ca="$dir/ca.pem" --ssl-verify-server-cert)
    answers "$data" "$(env_value "$dir/mysql.env" port)"
}

choose_home() {
    local folder
    folder=$(mktemp -d "$chroot/srv/postroom-server.XXXXXX")
    printf '/srv/%s\n' "${folder##*/}" | write_file "$dir/home"
    load_home
    mkdir "$folder/data" "$folder/tls"
}

# An authority of our own and a server certificate for the loopback address; DIR/ca.pem is for the clients.
make_certificates() {
    local tls=$chroot$home/tls
    (
        cd "$tls"
        openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=postroom test authority" \
            -keyout ca-key.pem -out ca.pem
        openssl req -newkey rsa:2048 -nodes -subj "/CN=localhost" -keyout key.pem -out request.pem
        openssl x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 30 -out cert.pem \
            -extfile <(printf 'subjectAltName=IP:127.0.0.1,DNS:localhost')
    ) >>"$dir/server.log" 2>&1 9>&- || fail_start "openssl failed"
    cp "$tls/ca.pem" "$dir/ca.pem"
}

run_in_chroot() {
    exec setsid chroot --userspec=65534:65534 --groups=65534 "$chroot" /usr/sbin/mysqld --no-defaults \
        --datadir="$data" --tmpdir="$data" --innodb-use-native-aio=OFF "$@"
}

initialize_data() {
    printf '%s\n' "$account_sql" >"$chroot$home/accounts.sql"
    chown -R 65534:65534 "$chroot$home"
    (cd / && run_in_chroot --initialize-insecure) </dev/null >>"$dir/server.log" 2>&1 9>&- ||
        fail_start "mysqld --initialize-insecure failed"
}

# Starts the server on port $1 and waits until it answers; fails when it ends first.
run_server() {
    write_env "$1"
    (cd / && run_in_chroot --port="$1" --bind-address=127.0.0.1 --socket="$home/socket" --pid-file="$home/pid" \
        --init-file="$home/accounts.sql" --mysqlx=OFF --secure-file-priv=NULL --skip-name-resolve \
        --max-connections=400 --default-time-zone=+03:00 --performance-schema=OFF \
        --ssl-ca="$home/tls/ca.pem" --ssl-cert="$home/tls/cert.pem" --ssl-key="$home/tls/key.pem" \
        --require-secure-transport=ON --innodb-flush-log-at-trx-commit=2 --sync-binlog=0 \
        --innodb-doublewrite=OFF --innodb-flush-method=nosync --innodb-buffer-pool-size=256M --innodb-redo-log-capacity=256M) \
        </dev/null >>"$dir/server.log" 2>&1 9>&- &
    local pid=$!
    printf '%s\n' "$pid" | write_file "$dir/pid"
    wait_for_server "$pid" accepts_connections
}

write_env() {
    write_file "$dir/mysql.env" <<ENV
host=127.0.0.1
port=$1
user=$test_user
password=$test_password
ssl_ca=$dir/ca.pem
ENV
}

fail_start() {
    tail -n 20 "$dir/server.log" >&2
    stop
    die "$1 (log: $dir/server.log)"
}

status() {
    server_runs && accepts_connections
}

start() {
    local port
    if status; then return 0; fi
    stop
    [ "$(id -u)" -eq 0 ] || die "MySQL runs in a chroot: start it as root"
    require_program /usr/bin/openssl openssl
    ensure_chroot
    : >"$dir/server.log"
    choose_home
    make_certificates
    initialize_data
    start_on_free_port "Bind on TCP/IP port" run_server
}

stop() {
    if server_runs; then kill_server "$(head -n 1 "$dir/pid")" "$data"; fi
    rm -f "$dir/mysql.env" "$dir/pid" "$dir/ca.pem"
    if load_home; then rm -rf --one-file-system "${chroot:?}$home"; fi
    rm -f "$dir/home"
}

[ $# -eq 2 ] || usage
require_program "$mariadb_client" mariadb-client-core
run_action "$@"
