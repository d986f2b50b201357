#!/bin/sh
# Decimal arithmetic: a million calculations per operation and rules, calculated by Python's decimal and by GT.M too,
# where they are installed (test/run/decimal.sh says how); a quarter of an hour. CARET_SEED: others.

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
build=$CARET_SOURCE/build
if ! { cmake --preset release && cmake --build "$build" --target test_base_decimal; } >"$log" 2>&1; then
    tail -n 40 "$log"
    exit 1
fi
CARET_BUILD=$build CARET_PAIRS=$((1000000 * CARET_TORTURE)) sh "$CARET_SOURCE/test/run/decimal.sh"
