#!/usr/bin/env bash
# packages_test.sh <tools/install_packages.sh>: on a machine where nothing is installed, the group that `make` and
# `make demo` use asks for no server, no second compiler and no test framework; the groups together ask for all.
set -euo pipefail

script=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#!/bin/sh\nexit 1\n' >"$work/dpkg-query"
chmod 755 "$work/dpkg-query"
for tool in bash dirname grep sed; do ln -s "$(command -v "$tool")" "$work/$tool"; done

wanted() {  # [group...]: what would be installed
    PATH=$work bash "$script" --list "$@"
}

if wanted build | grep -E 'server|postgresql-1|galera|erlang|clang|gtest|chromium'; then
    echo "the group build asks for more than building needs" >&2
    exit 1
fi
# Not from a pipe: grep -q ends with the first match, and whoever still writes would die of it.
grep -qx cmake <<<"$(wanted build)"
grep -qx rabbitmq-server <<<"$(wanted test)"
if grep -qx cmake <<<"$(wanted test)"; then
    echo "a group asks for the packages of another" >&2
    exit 1
fi
[[ $(wanted | sort) == "$(wanted build deb bench peers test lint docs | sort)" ]]
if wanted no_such_group 2>"$work/refusal"; then
    echo "an unknown group was taken" >&2
    exit 1
fi
grep -q no_such_group "$work/refusal"
