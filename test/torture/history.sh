#!/bin/sh
# Recorded histories under kills are serializable: several of them, as one holds 160,000 transactions at most.

i=0
while [ "$i" -lt $((20 * CARET_TORTURE)) ]; do
    CARET_HISTORY=15 "$CARET_BUILD/test/test_api_history" || exit 1
    i=$((i + 1))
done
