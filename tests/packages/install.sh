#!/usr/bin/env bash
# install.sh <cpack> <build folder>: from nothing to a delivered message in a clean Debian, then a program built with the
# library, then an upgrade that keeps the administrator's configuration.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/packages/common.sh
source "$here/common.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make_packages "$1" "$2" "$work"

# The same packages with the next number.
mkdir "$work/next"
for package in "$work"/*.deb; do
    dpkg-deb -R "$package" "$work/unpacked"
    version=$(dpkg-deb -f "$package" Version)
    sed -i "/^\(Version\|Depends\):/s/$version/$version+next/g" "$work/unpacked/DEBIAN/control"
    if [[ -d $work/unpacked/etc ]]; then echo '# as the next version ships it' >>"$work/unpacked/etc/postroom/postroom.toml"; fi
    dpkg-deb --root-owner-group -b "$work/unpacked" "$work/next" >/dev/null
    rm -r "$work/unpacked"
done
cp -r "$here/../install/consumer" "$work/consumer"
in_clean_debian "$work" "$here/install_in_chroot.sh"
