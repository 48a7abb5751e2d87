# What the server scripts of the test-suite share. Sourced, never run.
#
# A script defines its actions as functions (start, status, stop, and crash and resume where it has
# them) and ends with run_action, which sets `dir` (absolute) through open_directory. Servers run as `nobody` when
# the caller is root, because PostgreSQL, PgBouncer and MariaDB refuse root, and as the caller otherwise.
# shellcheck shell=bash

# Settings of the caller's shell (PGPORT, PGOPTIONS, ...) must not reach the test servers.
unset "${!PG@}"

if [ "$(id -u)" -eq 0 ]; then
    run_as=(setpriv --reuid="$(id -u nobody)" --regid="$(id -g nobody)" --clear-groups --)
    server_owner=$(id -u nobody):$(id -g nobody)
else
    run_as=(env)
    server_owner=$(id -u):$(id -g)
fi

memory_needed_kib=$((4 * 1024 * 1024))
port_attempts_max=20
# A process that was killed while the disk keeps it waiting is gone when the disk has answered.
# shellcheck disable=SC2034  # read by the scripts that source this file
kill_limit_seconds=60

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

require_program() {
    [ -x "$1" ] || die "missing program $1: install the Debian package $2"
}

# Makes the directory $1, sets `dir` to its real path, and keeps other calls for it out until exit.
# Servers must be started with `9>&-`, or they would hold the lock for as long as they run.
open_directory() {
    mkdir -p "$1" || die "cannot create $1"
    dir=$(realpath "$1")
    exec 9>"$dir/lock"
    flock -w 60 9 || die "another call for $dir has not finished within 60 s"
}

# Prints the value of `key` ($2) in the env file ($1); nothing when either is missing.
env_value() {
    [ -r "$1" ] || return 0
    sed -n "s/^$2=//p" "$1" | head -n 1
}

# Replaces the file $1 with standard input in one step: a reader sees all of it or nothing.
write_file() {
    cat >"$1.new" && mv "$1.new" "$1"
}

# Chooses where the server keeps its files and remembers it in DIR/base: in memory when $1 is `memory` (else `disk`)
# and there is room (a database per test means hundreds of files per test), else DIR itself, unless
# the server's user cannot enter it (a build tree below /root) or a unix socket's path in it would
# pass the limit of 107 bytes.
choose_base() {
    base=$dir
    if [ "$1" = memory ] && memory_has_room; then
        base=$(mktemp -d /dev/shm/postroom-server.XXXXXX) || die "cannot create a directory in /dev/shm"
    elif ((${#dir} > 80)) || ! "${run_as[@]}" test -x "$dir"; then
        base=$(mktemp -d /tmp/postroom-server.XXXXXX) || die "cannot create a directory in /tmp"
    fi
    [ "$base" = "$dir" ] || chown "$server_owner" "$base"
    printf '%s\n' "$base" | write_file "$dir/base"
    mkdir -m 700 "$base/data" && chown "$server_owner" "$base/data"
}

memory_has_room() {
    local free_kib
    [ -w /dev/shm ] && free_kib=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1) &&
        ((free_kib > memory_needed_kib))
}

# Sets `base` and `data` from what choose_base remembered; fails when there is nothing.
load_base() {
    [ -s "$dir/base" ] || return 1
    base=$(head -n 1 "$dir/base")
    # shellcheck disable=SC2034  # read by the scripts that source this file
    data=$base/data
}

# Removes folders, again when somebody who is just ending has put a file into one meanwhile.
remove_folders() {
    rm -rf "$@" 2>/dev/null || { sleep 1 && rm -rf "$@"; }
}

# Removes the server's files; refuses any path that choose_base could not have chosen.
remove_base() {
    load_base || return 0
    case $base in
        "$dir") remove_folders "$dir/data" ;;
        /tmp/postroom-server.?????? | /dev/shm/postroom-server.??????) remove_folders "$base" ;;
        *) die "unexpected path '$base' in $dir/base: not removing it" ;;
    esac
    rm -f "$dir/base"
}

# A port nobody listens on. Taken from below the kernel's ephemeral range, so that no outgoing
# connection grabs it before the server binds it; a server that still loses it is started again.
pick_port() {
    local port
    for _ in {1..100}; do
        port=$((15000 + SRANDOM % 15000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            printf '%s\n' "$port"
            return 0
        fi
    done
    die "no free port found between 15000 and 29999"
}

# Starts the server with `$2... PORT` and sets `port` to the free port that it got. When the log says $1, another
# program has taken the port in between, and the next one is tried.
start_on_free_port() {
    local port_taken=$1 log_length attempt
    shift
    for ((attempt = 1; attempt <= port_attempts_max; attempt++)); do
        port=$(pick_port)
        log_length=$(stat -c %s "$dir/server.log")
        if "$@" "$port"; then return 0; fi
        grep -q "$port_taken" <<<"$(tail -c "+$((log_length + 1))" "$dir/server.log")" ||
            fail_start "the server did not start"
    done
    fail_start "no free port in $port_attempts_max attempts"
}

# Whether process $1 is alive and has $2 in its command line. Process ids are reused, so a stored id
# alone proves nothing; a zombie has no command line and counts as gone.
process_runs() {
    local command_line
    [[ $1 =~ ^[0-9]+$ ]] || return 1
    { command_line=$(tr '\0' ' ' <"/proc/$1/cmdline"); } 2>/dev/null || return 1
    [[ $command_line == *"$2"* ]]
}

# Waits until process $1 (recognised by $2) is gone, at most $3 seconds.
wait_gone() {
    local deadline=$((SECONDS + $3))
    while process_runs "$1" "$2"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.02
    done
}

# Calls start_fresh with the profile $1, fast or durable, and a new folder for the data; does nothing when the server
# runs with it.
start_with_profile() {
    local running
    case $1 in fast | durable) ;; *) usage ;; esac
    if status; then
        running=$(env_value "$dir/$(basename "$0" .sh).env" profile)
        [ "$running" = "$1" ] || die "the server in $dir runs with profile $running"
        return 0
    fi
    stop
    if [ "$1" = fast ]; then choose_base memory; else choose_base disk; fi
    load_base
    start_fresh "$1"
}

# Stops the server when process $1 has ended without doing so, as a test that crashes does. Ends by
# itself when the server has been stopped. Does nothing when $1 is empty.
watch_owner() {
    [ -n "$1" ] || return 0
    # shellcheck disable=SC2016  # expanded by the inner shell
    setsid bash -c 'while [ -e "$2/base" ]; do
            kill -0 "$1" 2>/dev/null || exec "$3" stop "$2"
            sleep 0.5
        done' watch_owner "$1" "$dir" "$(realpath "$0")" \
        </dev/null >/dev/null 2>&1 9>&- &
}

# The environment in which the server with the data folder $1 has its clock beside the machine's. The file says by how many
# seconds; without it there is nothing to set. Only the time of day is moved, not what waits are measured by.
faked_clock() {
    [ -e "$1/clock" ] || return 0
    local library
    library=$(find /usr/lib -name libfaketimeMT.so.1 -print -quit)
    [ -n "$library" ] || die "libfaketimeMT.so.1 is missing (package libfaketime)"
    printf '%s\n' "LD_PRELOAD=$library" "FAKETIME_TIMESTAMP_FILE=$1/clock" FAKETIME_CACHE_DURATION=1 \
        FAKETIME_DONT_FAKE_MONOTONIC=1
}

# Written beside and moved into place: the server reads it at any moment.
clock() {
    load_base || die "no server was started in $dir"
    printf '%s\n' "$1" >"$data/clock.new"
    chmod 644 "$data/clock.new"
    mv "$data/clock.new" "$data/clock"
}

# Runs action $1 of the calling script for the folder $2, with the further arguments as its own.
run_action() {
    local action=$1 folder=$2
    shift 2
    case $action in start | status | await | clock | crash | resume | switch | stop) ;; *) usage ;; esac
    declare -F "$action" >/dev/null || usage
    if [ ! -d "$folder" ]; then
        case $action in
            stop) exit 0 ;;
            status) exit 3 ;;
        esac
    fi
    open_directory "$folder"
    if [ "$action" = status ]; then
        status || exit 3
    else
        "$action" "$@"
    fi
}
