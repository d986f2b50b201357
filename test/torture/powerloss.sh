#!/bin/sh
# Loss of power, of the engine and of the server in commit mode: ten seeds, up to 50,000 states of the disk each, and more
# within recoveries.

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
seed=1
while [ "$seed" -le $((10 * ${CARET_TORTURE:-1})) ]; do
    for program in "$CARET_BUILD/test/test_log_powerloss" "$CARET_BUILD/test/test_server_power"; do
        [ -x "$program" ] || continue # small pages have no server
        CARET_SEED=$seed CARET_POWER_STATES=50000 "$program" >"$log" 2>&1
        status=$?
        grep -e 'states' -e 'power lost' -e 'skipped:' "$log"
        if [ "$status" != 0 ]; then
            cat "$log"
            exit 1
        fi
    done
    seed=$((seed + 1))
done
