#!/bin/sh
# Kills where everything is full: deaths at many steps, and the release build with 1.2 M nodes in 64 MiB of shared memory.

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

run()
{
    "$@" >"$log" 2>&1
    status=$?
    grep -e 'steps' -e 'skipped' -e 'PASSED' "$log"
    [ "$status" = 0 ] || {
        cat "$log"
        exit 1
    }
}

CARET_KILL_DEATHS=$((2000 * ${CARET_TORTURE:-1})) run "$CARET_BUILD/test/test_log_kill"
cd "$CARET_SOURCE" || exit 1
if ! { cmake --preset release && cmake --build --preset release --target test_log_kill; } >"$log" 2>&1; then
    tail -n 20 "$log"
    exit 1
fi
CARET_KILL_NODES=1200000 run build/test/test_log_kill
