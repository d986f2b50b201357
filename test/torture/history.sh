#!/bin/sh
# Recorded histories under kills are serializable: one of two seconds after the other, for five minutes.

CARET_HISTORY=$((300 * CARET_TORTURE)) "$CARET_BUILD/test/test_api_history"
