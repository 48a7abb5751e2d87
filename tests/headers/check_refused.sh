#!/usr/bin/env bash
# check_refused.sh <compiler> <include folder>: registering what would lose messages does not
# compile, and the compiler says why in our words. What is right does compile.
set -euo pipefail

compiler=$1
include_dir=$2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
flags=(-std=c++20 -Wall -Werror -I "$include_dir")

# The headers are read once, for all of the snippets.
cat >"$folder/face.hpp" <<'EOF'
#include <future>
#include <postroom/postroom.hpp>
EOF
"$compiler" "${flags[@]}" -x c++-header "$folder/face.hpp" -o "$folder/face.hpp.gch"

compile() {
    printf 'using namespace postroom;\nvoid f(%s) { %s }\n' \
        '[[maybe_unused]] Dispatcher& d, [[maybe_unused]] Inbox& inbox, [[maybe_unused]] Transaction& tx' "$1" |
        "$compiler" "${flags[@]}" -fsyntax-only -include "$folder/face.hpp" -x c++ - 2>&1
}

accepted() {
    local report
    report=$(compile "$1") || { printf 'refused: %s\n%s\n' "$1" "$report" >&2; exit 1; }
}

refused() {
    local report
    if report=$(compile "$1"); then
        echo "accepted: $1" >&2
        exit 1
    fi
    grep -qF "$2" <<<"$report" || { printf 'no "%s" for: %s\n%s\n' "$2" "$1" "$report" >&2; exit 1; }
}

verdicts="returns void or postroom::Verdict; anything else would be ignored"
accepted 'd.on("t", [](const Message&) {});'
accepted 'd.on("t", [](const Message&, HandlerContext&) { return Verdict::retry("no"); });'
refused 'd.on("t", [](const Message&) { return false; });' "$verdicts"
refused 'd.on("t", [](const Message&) { return std::async([] {}); });' "$verdicts"
refused 'd.routes().in_transaction("t", [](const Message&) { return 1; });' "$verdicts"
refused 'd.routes().on_async("t", [](Delivery) { return Verdict::done(); });' \
    "its outcome is what the Delivery is told"
refused 'd.before([](const Message&) { return false; });' \
    "what keeps the handler from being called is an exception"
refused 'd.on("t", [](const Message&) { Verdict::retry("forgotten return"); });' nodiscard

key='{.source = "s", .message_id = "m"}'
accepted "inbox.once(tx, $key, [] {});"
refused "inbox.once(tx, $key, [] { return false; });" "what takes it back is an exception"
refused "inbox.already_processed($key);" nodiscard
refused 'inbox.ack(tx, Message{});' nodiscard
refused 'inbox.claim_due(1);' nodiscard
