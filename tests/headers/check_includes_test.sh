#!/usr/bin/env bash
# The check must accept what is allowed and name what is not.
set -euo pipefail

check=$(dirname "$0")/check_includes.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/postroom/adapter" "$folder/postroom/backend"

printf '#pragma once\n#include <string>  // why\n#include <postroom/ids.hpp>\n' >"$folder/postroom/good.hpp"
printf '#include <pqxx/pqxx>\n' >"$folder/postroom/adapter/pqxx.hpp"
"$check" "$folder" || { echo "refused allowed includes" >&2; exit 1; }

for planted in '<sqlite3.h>' '<libpq-fe.h>' '<fmt/format.h>' '"base/uuid.hpp"' '<openssl/evp.h>'; do
    printf '#  include %s\n' "$planted" >"$folder/postroom/backend/planted.hpp"
    if report=$("$check" "$folder"); then
        echo "did not find $planted" >&2
        exit 1
    fi
    grep -qF "planted.hpp:1: public header includes $planted" <<<"$report"
done
