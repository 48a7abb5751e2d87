#!/usr/bin/env bash
# How a node of galera.sh asks another one for what it has missed; mariadbd runs this on both sides.
#
# Both sides have already agreed that the donor's write set cache (IST) holds enough, then the donor is called
# with --bypass, and all that is left to do is to tell the joiner's side the position it begins at. Or they
# have not, and the joiner would need a full copy of the data, which this refuses: in a test that is an error.
set -euo pipefail

role='' address='' folder='' gtid='' parent='' bypass=''
while [ $# -gt 0 ]; do
    case $1 in
        --role) role=$2 && shift ;;
        --address) address=$2 && shift ;;
        --datadir) folder=${2%/} && shift ;;
        --gtid) gtid=$2 && shift ;;
        --parent) parent=$2 && shift ;;
        --bypass) bypass=1 ;;
        --mysqld-args) break ;;
    esac
    shift
done

case $role in
    joiner)
        # The address that the donor's side is given is a file of the joiner's.
        note=$folder/missed.from
        rm -f "$note"
        printf 'ready %s\n' "$note"
        until [ -s "$note" ]; do
            kill -0 "$parent" 2>/dev/null || exit 32
            sleep 0.02
        done
        head -n 1 "$note"
        ;;
    donor)
        if [ -z "$bypass" ]; then
            echo "the write set cache does not reach back far enough" >&2
            exit 61
        fi
        printf '%s\n' "$gtid" >"$address.new" && mv "$address.new" "$address"
        printf 'done %s\n' "$gtid"
        ;;
    *) exit 22 ;;
esac
