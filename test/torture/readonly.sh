#!/bin/sh
# Readers that nobody keeps anything for, beside a bank that is killed and opened all the time: ten minutes.

CARET_READONLY_SECONDS=$((600 * ${CARET_TORTURE:-1})) CARET_SEED="${CARET_SEED:-$(date +%s)}" \
    "$CARET_BUILD/test/test_open_audits"
