#!/bin/sh
# A writer, and a repairer after it, is killed at each single instruction under the writer mutex: in the build that
# users get, as its instructions are those that count; 270,000 kills, an hour and a half.  CARET_STEP=n: at every n-th.

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
build=$CARET_SOURCE/build
if ! { cmake --preset release && cmake --build "$build" --target test_api_step; } >"$log" 2>&1; then
    tail -n 40 "$log"
    exit 1
fi
CARET_STEP=${CARET_STEP:-1} "$build/test/test_api_step" >"$log" 2>&1
status=$?
grep -e 'kill' -e 'ERROR' -e 'skipped:' "$log"
exit "$status"
