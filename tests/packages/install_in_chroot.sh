#!/bin/bash
# Run in a clean Debian by install.sh.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

since=$SECONDS
apt-get install -y --no-install-recommends /root/files/postroom_*.deb /root/files/libpostroom0.1_*.deb >/dev/null
id postroom
[[ $(stat -c '%U %a' /var/lib/postroom) == "postroom 750" ]]
[[ $(stat -c '%G %a' /etc/postroom/postroom.toml) == "postroom 640" ]]

as_service=(setpriv --reuid=postroom --regid=postroom --clear-groups)
relay=
trap 'if [[ -n $relay ]]; then kill -KILL "$relay"; fi' EXIT

wait_for() {  # <text> <file>
    for ((i = 0; i < 600; i++)); do
        if grep -q "$1" "$2"; then return; fi
        sleep 0.1
    done
    cat "$2" >&2
    return 1
}

deliver() {  # <payload>: through a relay with the configuration of the package
    cd /var/lib/postroom
    : >/tmp/log
    "${as_service[@]}" postroom relay --config /etc/postroom/postroom.toml >/tmp/out 2>/tmp/log &
    relay=$!
    wait_for RELAY_READY /tmp/log
    "${as_service[@]}" postroom enqueue order.placed --payload "$1" --config /etc/postroom/postroom.toml
    wait_for "$1" /tmp/out
    kill -TERM "$relay"
    wait "$relay"
    relay=
}

deliver '{"order":17}'
echo "from an empty system to a delivered message: $((SECONDS - since)) s"

since=$SECONDS
apt-get install -y --no-install-recommends /root/files/libpostroom-dev_*.deb cmake g++ make pkg-config >/dev/null
cmake -S /root/files/consumer -B /tmp/consumer >/dev/null
cmake --build /tmp/consumer
/tmp/consumer/consumer /tmp/cmake.db
read -r -a flags <<<"$(pkg-config --cflags --libs postroom-sqlite)"
g++ -std=c++20 /root/files/consumer/main.cpp "${flags[@]}" -o /tmp/by_pkg_config
/tmp/by_pkg_config /tmp/pkg_config.db
apt-get purge -y libpostroom-dev >/dev/null
echo "from there to programs built by CMake and with pkg-config: $((SECONDS - since)) s"

echo "# the administrator's line" >>/etc/postroom/postroom.toml
apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
    /root/files/next/postroom_*.deb /root/files/next/libpostroom0.1_*.deb >/dev/null
dpkg-query -W postroom | grep -q '+next$'
grep -q "the administrator's line" /etc/postroom/postroom.toml
deliver '{"order":18}'

apt-get purge -y postroom >/dev/null
[[ ! -e /etc/postroom/postroom.toml ]]
