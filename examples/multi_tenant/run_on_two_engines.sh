#!/usr/bin/env bash
# run_on_two_engines.sh <program> <folder of a server>: the example with a tenant on that server.
set -euo pipefail

program=$1
value() { sed -n "s/^$1=//p" "$2/postgres.env"; }
exec "$program" "postgresql://$(value user "$2")@$(value host "$2"):$(value port "$2")/postgres"
