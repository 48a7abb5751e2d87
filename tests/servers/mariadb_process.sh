# Starting, asking and killing one mariadbd, or mysqld, which differs little: what mariadb.sh, galera.sh and
# mysql.sh share. Sourced after common.sh.
#
# A server is known by its data folder, which stands in its command line and which it names when asked.
# shellcheck shell=bash disable=SC2034,SC2154  # shared with the scripts that source this file

# Settings of the caller's shell (MYSQL_HOST, MYSQL_TCP_PORT, ...) must not reach the test servers.
unset "${!MYSQL@}" "${!MARIADB@}"

mariadbd=${POSTROOM_MARIADBD:-/usr/sbin/mariadbd}
mariadb_client=${POSTROOM_MARIADB_CLIENT:-/usr/bin/mariadb}
mariadb_install_db=/usr/bin/mariadb-install-db
start_limit_seconds=90
client_options=()  # of a server with needs of its own

# The account of the tests has a password, full of what a URL must escape, and rights on their databases only.
test_user=postroom
test_password='p@rcel/100%:é'
account_sql="CREATE USER '$test_user'@'127.0.0.1' IDENTIFIED BY '$test_password';
GRANT ALL ON \`postroom\\_%\`.* TO '$test_user'@'127.0.0.1';
CREATE USER IF NOT EXISTS 'root'@'127.0.0.1';
GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;"

require_mariadb() {
    require_program "$mariadbd" mariadb-server-core
    require_program "$mariadb_install_db" mariadb-server-core
    require_program "$mariadb_client" mariadb-client-core
}

# Runs $2 as root of the server whose socket is in the data folder $1.
root_sql() {
    "$mariadb_client" --no-defaults --connect-timeout=10 --default-character-set=utf8mb4 --batch \
        --skip-column-names -u root -S "$1/socket" -e "$2" 9>&-
}

# Whether the server of the data folder $1 answers the account of the tests on port $2.
answers() {
    [ "$(MYSQL_PWD=$test_password "$mariadb_client" --no-defaults "${client_options[@]}" --connect-timeout=5 \
        --default-character-set=utf8mb4 --batch --skip-column-names -h 127.0.0.1 -P "$2" -u "$test_user" \
        -e 'SELECT @@datadir' 9>&- 2>/dev/null)" = "$1/" ]
}

# Makes an empty data folder $1, words to the log $2.
install_data() {
    # The folder of plug-ins is a package of its own, and no account of ours needs one.
    (cd / && "${run_as[@]}" timeout -k 5 "$start_limit_seconds" "$mariadb_install_db" --no-defaults \
        --datadir="$1" --tmpdir="$1" --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve) \
        </dev/null >>"$2" 2>&1 9>&-
}

# Sets `settings` for profile $1. What is committed outlives a SIGKILL in both; `durable` also
# outlives the machine. The time zone is nobody's, so that what forgets about zones is found out.
choose_settings() {
    settings=(
        --bind-address=127.0.0.1 --skip-name-resolve --max-connections=400
        --character-set-server=utf8mb4 --collation-server=utf8mb4_general_ci
        --default-time-zone=+03:00 --performance-schema=OFF
        --innodb-buffer-pool-size=256M --innodb-log-file-size=128M --innodb-use-native-aio=OFF
        --max-allowed-packet=64M
    )
    if [ "$1" = durable ]; then
        settings+=(--innodb-flush-log-at-trx-commit=1)
    else
        settings+=(--innodb-flush-log-at-trx-commit=2 --skip-innodb-doublewrite)
    fi
}

# Runs a server on the data folder $1 and port $2, log to $3, further settings after that; sets
# `server_pid`. The log is opened here, not by the server, whose user may be unable to enter its folder.
run_mariadbd() {
    local folder=$1 port=$2 log=$3 clock
    shift 3
    mapfile -t clock < <(faked_clock "$folder")
    (cd / && exec setsid "${run_as[@]}" env "${clock[@]}" "$mariadbd" --no-defaults --datadir="$folder" --tmpdir="$folder" \
        --socket="$folder/socket" --pid-file="$folder/mariadbd.pid" --port="$port" "$@") \
        </dev/null >>"$log" 2>&1 9>&- &
    server_pid=$!
}

# Waits until the server with id $1 runs the command $2...; fails when it ends first or time is up.
wait_for_server() {
    local pid=$1 deadline=$((SECONDS + start_limit_seconds))
    shift
    until "$@"; do
        # Not process_runs: until the child has called exec, its command line is this script's.
        kill -0 "$pid" 2>/dev/null && ((SECONDS < deadline)) || return 1
        sleep 0.05
    done
}

# SIGKILL to the server with id $1 and data folder $2.
kill_server() {
    process_runs "$1" "$2" || return 0
    kill -KILL "$1" 2>/dev/null || true
    wait_gone "$1" "$2" "$kill_limit_seconds" || die "process $1 survives SIGKILL"
}

# Ends a server in good order, or else by force.
end_server() {
    process_runs "$1" "$2" || return 0
    kill -TERM "$1" 2>/dev/null || true
    wait_gone "$1" "$2" 30 || kill_server "$1" "$2"
}
