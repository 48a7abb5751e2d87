#!/bin/bash
# Run in a clean Debian by demo.sh.
set -euo pipefail

apt-get install -y --no-install-recommends make >/dev/null
cd /root/files/clone
since=$SECONDS
make demo
echo "make demo: $((SECONDS - since)) s"
if dpkg-query -W -f '${Package}\n' | grep -E '^(postgresql-[0-9]+|mariadb-server|rabbitmq-server|erlang|clang)'; then
    echo "the demo installed a server or a second compiler" >&2
    exit 1
fi
if [[ -e /etc/postgresql-common || -e /usr/sbin/policy-rc.d ]]; then
    echo "the demo left something behind" >&2
    exit 1
fi

tools/install_packages.sh bench
if [[ -e /etc/postgresql-common/createcluster.d || -d /etc/postgresql/15/main ]]; then
    echo "installing the servers left a cluster, or what prevents one" >&2
    exit 1
fi
