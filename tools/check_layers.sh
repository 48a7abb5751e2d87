#!/usr/bin/env bash
# check_layers.sh <src folder>: which layer may include which, read off the #include lines, and which may read a clock.
#
# A layer is a folder of src/; each backend and each sink is one of its own. Public headers
# (<postroom/...>) and foreign ones may be included from anywhere. A folder that is not in the table
# is an error, so that a new layer gets its place here first. What runs on the virtual time of the simulator is handed
# its clock and reads none by itself.
set -euo pipefail

src_dir=$1
[[ -d $src_dir ]] || { echo "no such folder: $src_dir" >&2; exit 1; }
cd "$src_dir"

find . -type f \( -name '*.cpp' -o -name '*.hpp' \) -print0 | sort -z | xargs -0 -r awk '
    # Everything a layer may include besides itself; what stands below something allowed is listed too.
    BEGIN {
        allowed["base"]     = ""
        allowed["queue"]    = "base"
        allowed["dispatch"] = "base queue"
        allowed["memory"]   = "base queue"
        allowed["observe"]  = "base queue"
        allowed["runtime"]  = "base queue dispatch observe tenancy"
        allowed["outbox"]   = "base queue"
        allowed["inbox"]    = "base queue"
        allowed["sql"]      = "base queue"
        allowed["webhooks"] = "base"
        allowed["tenancy"]  = "base queue outbox inbox"
        allowed["backends"] = "base queue sql"
        allowed["sinks"]    = "base queue"
        allowed["admin"]    = "base queue outbox inbox tenancy observe"
        allowed["adoption"] = "base queue"
        allowed["otlp"]     = "base queue observe"
        allowed["torture"]  = "base queue"
        clockless = "queue dispatch memory observe outbox inbox tenancy"
        allowed["cli"]      = "*"
        allowed["daemon"]   = "*"
    }

    function report(what) {
        printf "%s:%d: %s\n", substr(FILENAME, 3), FNR, what
        found = 1
    }

    function member(word, words,    i, count, list) {
        count = split(words, list, " ")
        for (i = 1; i <= count; i++) if (list[i] == word || list[i] == "*") return 1
        return 0
    }

    # base/uuid.hpp -> base; backends/sqlite/driver.hpp -> backends/sqlite; open_store.hpp -> ""
    function layer_of(path,    parts, count) {
        count = split(path, parts, "/")
        if (count == 1) return ""
        if ((parts[1] == "backends" || parts[1] == "sinks") && count > 2) return parts[1] "/" parts[2]
        return parts[1]
    }

    # src/<folder>/here.hpp may be named as "here.hpp" or "../queue/there.hpp" too.
    function resolve(from, name,    folder) {
        if (name !~ /^\.\.?\//) return name
        folder = from
        sub(/\/[^\/]*$/, "", folder)
        while (name ~ /^\.\.?\//) {
            if (name ~ /^\.\.\//) { if (!sub(/\/[^\/]*$/, "", folder)) folder = "" }
            sub(/^\.\.?\//, "", name)
        }
        return folder == "" ? name : folder "/" name
    }

    FNR == 1 {
        path = substr(FILENAME, 3)
        from = layer_of(path)
        from_kind = from
        sub(/\/.*/, "", from_kind)
        if (!(from_kind in allowed)) {
            report("the folder \"" from "\" has no place in the layer table")
            nextfile
        }
    }

    match($0, /^[ \t]*#[ \t]*include[ \t]*["<][^">]+[">]/) {
        name = substr($0, RSTART, RLENGTH)
        sub(/^[^"<]*["<]/, "", name)
        sub(/[">]$/, "", name)
        name = resolve(path, name)
        to = layer_of(name)
        to_kind = to
        sub(/\/.*/, "", to_kind)
        if (!(to_kind in allowed) || to == from) next
        if (to_kind == from_kind) {
            report(from " must not include " to " (\"" name "\")")
        } else if (!member(to_kind, allowed[from_kind])) {
            report(from " must not include " to " (\"" name "\")")
        }
    }

    /_clock::now\(/ && member(from_kind, clockless) { report(from " must not read a clock: take a Clock") }

    END { exit found }'
