#!/usr/bin/env bash
# contents.sh <cpack> <build folder>: the Debian packages hold what they should, lintian finds nothing wrong with
# them, and the service runs with few rights.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/packages/common.sh
source "$here/common.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make_packages "$1" "$2" "$work"

holds() {  # <package> <path>...
    local package=$1 path
    shift
    dpkg-deb -c "$work/$package"_*.deb | awk '{ print $6 }' >"$work/list"
    for path in "$@"; do
        grep -qx ".$path" "$work/list" || die "$package lacks $path: $(cat "$work/list")"
    done
}
holds libpostroom0.1 /usr/lib/libpostroom.so.0.1 /usr/lib/libpostroom_sqlite.so.0.1 /usr/lib/libpostroom_sink_http.so.0.1
holds libpostroom-dev /usr/lib/libpostroom.so /usr/include/postroom/postroom.hpp \
    /usr/lib/cmake/postroom/postroomConfig.cmake /usr/lib/pkgconfig/postroom-sqlite.pc
holds postroom /usr/bin/postroom /etc/postroom/postroom.toml /lib/systemd/system/postroom.service \
    /usr/lib/sysusers.d/postroom.conf /usr/lib/tmpfiles.d/postroom.conf /usr/share/man/man1/postroom.1.gz \
    /usr/share/bash-completion/completions/postroom
grep -qx /etc/postroom/postroom.toml <<<"$(dpkg-deb -I "$work"/postroom_*.deb conffiles)"
grep -q 'libpostroom0.1 (= ' <<<"$(dpkg-deb -f "$work"/postroom_*.deb Depends)" || die "the program does not ask for its library"

echo "== lintian"
lintian --allow-root --fail-on error,warning --display-level '>=warning' "$work"/*.deb

echo "== rights of the service"
unit=$here/../../packaging/systemd/postroom.service
systemd-analyze security --no-pager --offline=true --threshold=20 "$unit" | tail -n 1
