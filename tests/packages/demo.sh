#!/usr/bin/env bash
# demo.sh <source tree>: `make demo` from a clone in a clean Debian; it installs what building needs and leaves nothing
# in /etc that would change later installs.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/packages/common.sh
source "$here/common.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C "$1" archive --prefix=clone/ HEAD | tar -x -C "$work"
in_clean_debian "$work" "$here/demo_in_chroot.sh"
