#!/usr/bin/env bash
# rootfs.sh <program>: what the container image holds is enough to deliver a message.
set -euo pipefail
here=$(dirname "$(realpath "$0")")

work=$(mktemp -d)
relay=
trap 'if [[ -n $relay ]]; then kill -KILL "$relay"; fi; rm -rf "$work"' EXIT
root=$work/root
"$here/../../packaging/container/rootfs.sh" "$1" "$root"
if [[ -e $root/bin/sh || -e $root/usr/bin/apt ]]; then
    echo "the image holds more than it needs" >&2
    exit 1
fi
in_root=(env -i HOME=/ POSTROOM_URL=sqlite:/var/lib/postroom/shop.db /usr/sbin/chroot --userspec=10001:10001 "$root" /usr/bin/postroom)
"${in_root[@]}" migrate up
"${in_root[@]}" relay >"$work/out" 2>"$work/log" &
relay=$!
"${in_root[@]}" enqueue order.placed --payload '{"order":17}'
for ((i = 0; i < 600; i++)); do
    if grep -q '"order":17' "$work/out"; then break; fi
    sleep 0.1
done
grep '"order":17' "$work/out" || { cat "$work/log"; exit 1; }
"${in_root[@]}" status
kill -TERM "$relay"
wait "$relay"
relay=
