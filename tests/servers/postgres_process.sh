# Killing one PostgreSQL server: what postgres.sh and patroni.sh share. Sourced after common.sh.
#
# A server is known by its data folder, which stands in the postmaster's command line.
# shellcheck shell=bash disable=SC2034,SC2154  # shared with the scripts that source this file

bin=${POSTROOM_POSTGRES_BIN:-/usr/lib/postgresql/15/bin}
start_limit_seconds=90

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

# Removes what a killed server leaves behind: the shared memory segment that line 7 of the lock file in its data folder $1
# names (key and id), when nobody is attached to it, and the lock files, those of sockets in $2. Where process 1 collects
# orphans late or never (containers), the dead postmaster stays a zombie, and PostgreSQL would take
# lock files that hold its id for those of a running server.
remove_locks() {
    local key id
    if [ -s "$1/postmaster.pid" ]; then
        read -r key id < <(sed -n 7p "$1/postmaster.pid") || true
        if awk -v key="$key" -v id="$id" '$1 == key && $2 == id && $7 == 0 { found = 1 }
                END { exit !found }' /proc/sysvipc/shm 2>/dev/null; then
            ipcrm -m "$id" || true
        fi
    fi
    rm -f "$1/postmaster.pid" "$2"/.s.PGSQL.*
}

# SIGKILL to the postmaster $1 of the data folder $2 and to all its children. Stopped first, so that it can start no child
# between the listing and its end.
kill_postmaster() {
    local children child
    process_runs "$1" "$2" || return 0
    kill -STOP "$1"
    mapfile -t children < <(children_of "$1")
    kill -KILL "$1" "${children[@]}" 2>/dev/null || true
    wait_gone "$1" "$2" "$kill_limit_seconds" || die "process $1 survives SIGKILL"
    for child in "${children[@]}"; do
        wait_gone "$child" postgres "$kill_limit_seconds" || die "process $child survives SIGKILL"
    done
}
