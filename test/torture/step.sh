#!/bin/sh
# A writer, and a repairer after it, is killed at each single instruction under the writer mutex: in the build that
# users get, as its instructions are those that count; 237,000 kills, in 16 parts that run beside each other, half an hour
# on two processors.  CARET_STEP=n: at every n-th.  CARET_PARTS_FROM=n goes on with a later part.

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
build=$CARET_SOURCE/build
if ! { cmake --preset release && cmake --build "$build" --target test_api_step; } >"$log" 2>&1; then
    tail -n 40 "$log"
    exit 1
fi
every=${CARET_STEP:-1}
part()
{
    CARET_STEP=$((16 * every)) CARET_SEED=$(($1 * every)) "$build/test/test_api_step" >"$log.$1" 2>&1
    status=$?
    grep -e 'ERROR' -e 'skipped:' "$log.$1"
    tail -n 1 "$log.$1"
    rm -f "$log.$1"
    return $status
}
jobs=$(nproc 2>/dev/null || echo 1)
failed=0
n=${CARET_PARTS_FROM:-0}
while [ "$n" -lt 16 ]; do # so many at a time
    running=
    while [ "$n" -lt 16 ] && [ "$(echo "$running" | wc -w)" -lt "$jobs" ]; do
        part "$n" &
        running="$running $!"
        n=$((n + 1))
    done
    for pid in $running; do
        wait "$pid" || failed=1
    done
    echo "$n of 16 parts"
done
exit "$failed"
