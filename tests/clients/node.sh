#!/usr/bin/env bash
# node.sh <packages> <client>: runs node_test.mjs in a folder where it finds its packages and the client.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$1/node_modules" "$work/node_modules"
cp "$here/node_test.mjs" "$2" "$work"
node --test "$work/node_test.mjs"
