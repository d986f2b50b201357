#!/bin/sh
# Salvage of 60 databases, each damaged in 127 ways, for each of ten seeds.

seed=1
while [ "$seed" -le $((10 * ${CARET_TORTURE:-1})) ]; do
    CARET_SEED=$((seed * 1000)) CARET_SALVAGES=60 "$CARET_BUILD/test/test_copy_salvage" || exit 1
    seed=$((seed + 1))
done
