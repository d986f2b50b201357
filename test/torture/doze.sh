#!/bin/sh
# Processes sleep in the middle of what they read, at random, while others change it: a quarter of an hour.  CARET_SEED
# starts the chance.

seed=${CARET_SEED:-$(date +%s)}
for i in 1 2 3 4 5 6; do
    CARET_SEED=$((seed + i)) CARET_DOZE_ROUNDS=$((60000 * ${CARET_TORTURE:-1})) "$CARET_BUILD/test/test_api_doze" || exit 1
done
