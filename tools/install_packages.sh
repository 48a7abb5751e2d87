#!/usr/bin/env bash
# Installs the packages of packages.txt that are missing; does nothing, quickly, when none is.
set -euo pipefail

list=$(dirname "$0")/packages.txt

is_installed() {  # <package>
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

missing_packages() {
    local package command
    while read -r package command; do
        if [[ -n $command ]] && command -v "$command" >/dev/null; then continue; fi
        is_installed "$package" || echo "$package"
    done < <(sed 's/#.*//; /^[[:space:]]*$/d' "$list")
}

if ! command -v dpkg-query >/dev/null; then
    echo "Not a Debian system: packages are not checked. Needed are the equivalents of $list." >&2
    exit 0
fi

mapfile -t missing < <(missing_packages)
if [[ ${#missing[@]} -eq 0 ]]; then exit 0; fi

if [[ $EUID -eq 0 ]]; then
    as_root=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    as_root=(sudo)
else
    echo "These packages are missing and installing them needs root. Please run:" >&2
    echo "    apt-get install ${missing[*]}" >&2
    exit 1
fi

echo "Installing: ${missing[*]}"
# The tests start servers of their own: the package must not create and start a cluster on port 5432.
if [[ " ${missing[*]} " == *" postgresql-15 "* ]]; then
    cluster_config=/etc/postgresql-common/createcluster.d
    "${as_root[@]}" mkdir -p "$cluster_config"
    echo "create_main_cluster = false" |
        "${as_root[@]}" tee "$cluster_config/no-main-cluster.conf" >/dev/null
fi
# Nor must any other package start its server (RabbitMQ would, on port 5672).
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
fi
"${as_root[@]}" apt-get update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    -o Dpkg::Options::=--force-confold "${missing[@]}"
