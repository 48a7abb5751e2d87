#!/usr/bin/env bash
# install_packages.sh [--list] [group...]: installs what is missing of those groups of packages.txt, of all when
# none is named; does nothing, quickly, when nothing is missing. --list prints the missing packages instead.
# Nothing that it needs on the way stays behind: no configuration, no running server.
set -euo pipefail

list=$(dirname "$0")/packages.txt
only_list=
if [[ ${1:-} == --list ]]; then
    only_list=yes
    shift
fi
groups=" $* "

# "package [command]" for every package of the chosen groups.
chosen_packages() {
    local group='' line
    while read -r line; do
        if [[ $line =~ ^\[(.*)\]$ ]]; then
            group=${BASH_REMATCH[1]}
        elif [[ $groups == "  " || $groups == *" $group "* ]]; then
            echo "$line"
        fi
    done < <(sed 's/#.*//; /^[[:space:]]*$/d' "$list")
}

is_installed() {  # <package>
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

missing_packages() {
    local package command
    while read -r package command; do
        if [[ -n $command ]] && command -v "$command" >/dev/null; then continue; fi
        is_installed "$package" || echo "$package"
    done < <(chosen_packages)
}

for group in "$@"; do
    grep -qxF "[$group]" "$list" || { echo "$list has no group '$group'" >&2; exit 2; }
done
if ! command -v dpkg-query >/dev/null; then
    echo "Not a Debian system: packages are not checked. Needed are the equivalents of $list." >&2
    exit 0
fi

mapfile -t missing < <(missing_packages)
if [[ ${#missing[@]} -eq 0 ]]; then exit 0; fi
if [[ -n $only_list ]]; then
    printf '%s\n' "${missing[@]}"
    exit 0
fi

if [[ $EUID -eq 0 ]]; then
    as_root=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    as_root=(sudo)
else
    echo "These packages are missing and installing them needs root. Please run:" >&2
    echo "    apt-get install ${missing[*]}" >&2
    exit 1
fi

temporary=()
remove_temporary() {
    local path
    for path in "${temporary[@]}"; do
        if [[ -d $path ]]; then
            "${as_root[@]}" rmdir --ignore-fail-on-non-empty "$path"
        else
            "${as_root[@]}" rm -f "$path"
        fi
    done
}
trap remove_temporary EXIT

# for_now <path> <text>: a file that stands there only while packages are being installed.
for_now() {
    if [[ -e $1 ]]; then return; fi
    local folder
    folder=$(dirname "$1")
    temporary=("$1" "${temporary[@]}")
    while [[ ! -d $folder ]]; do
        temporary+=("$folder")
        folder=$(dirname "$folder")
    done
    "${as_root[@]}" mkdir -p "$(dirname "$1")"
    printf '%b' "$2" | "${as_root[@]}" tee "$1" >/dev/null
    "${as_root[@]}" chmod 755 "$1"
}

echo "Installing: ${missing[*]}"
# The tests start servers of their own: no package is to start one (RabbitMQ would, on port 5672), and that of
# PostgreSQL is not to create a cluster.
for_now /usr/sbin/policy-rc.d '#!/bin/sh\nexit 101\n'
if [[ " ${missing[*]} " == *" postgresql-"* ]]; then
    for_now /etc/postgresql-common/createcluster.d/no-main-cluster.conf 'create_main_cluster = false\n'
fi
"${as_root[@]}" apt-get update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    -o Dpkg::Options::=--force-confold "${missing[@]}"
