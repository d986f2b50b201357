#!/bin/sh
# Large transactions, of 1 and 5 M sets, in order and at random, killed at any moment: 600 MB of changes, by default.

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

cd "$CARET_SOURCE" || exit 1
if ! { cmake --preset release && cmake --build --preset release --target test_log_big; } >"$log" 2>&1; then
    tail -n 20 "$log"
    exit 1
fi
for sets in 1000000 5000000; do
    CARET_BIG_KILLS=$((24 * ${CARET_TORTURE:-1})) CARET_BIG_SETS=$sets CARET_BIG_TEST='killed_*' build/test/test_log_big \
        >"$log" 2>&1
    status=$?
    grep -e 'kills' -e 'skipped' -e 'PASSED' "$log"
    [ "$status" = 0 ] || {
        cat "$log"
        exit 1
    }
done
