#!/usr/bin/env bash
# check_includes.sh <include folder>: public headers include our own headers and those of the C++
# library only. The C++ library's names have neither a folder nor an extension; everything else with
# a folder is ours if it begins with postroom/. adapter/*.hpp may include the library they adapt.
set -euo pipefail

include_dir=$1
[[ -d $include_dir/postroom ]] || { echo "no such folder: $include_dir/postroom" >&2; exit 1; }

find "$include_dir/postroom" -name '*.hpp' -not -path '*/adapter/*' -print0 | sort -z |
    xargs -0 awk '
        /^[ \t]*#[ \t]*include/ {
            name = $0
            sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
            sub(/[ \t]*\/[\/*].*$/, "", name)
            sub(/[ \t\r]+$/, "", name)
            ours = name ~ /^[<"]postroom\/[a-z0-9_\/]+\.hpp[>"]$/
            standard = name ~ /^<[a-z_]+>$/
            if (!ours && !standard) {
                printf "%s:%d: public header includes %s\n", FILENAME, FNR, name
                found = 1
            }
        }
        END { exit found }'
