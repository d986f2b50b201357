#!/bin/sh
# Loss of power: ten seeds, up to 50,000 states of the disk each, and more within recoveries.

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
seed=1
while [ "$seed" -le $((10 * ${CARET_TORTURE:-1})) ]; do
    CARET_SEED=$seed CARET_POWER_STATES=50000 "$CARET_BUILD/test/test_log_powerloss" >"$log" 2>&1
    status=$?
    grep -e 'states' -e 'power lost' -e 'skipped:' "$log"
    if [ "$status" != 0 ]; then
        cat "$log"
        exit 1
    fi
    seed=$((seed + 1))
done
