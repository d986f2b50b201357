#!/bin/sh
# libyottadb.so beside the model of what YottaDB answers (test/yottadb/test_model.c): five seeds, two million calls each.

seed=1
while [ "$seed" -le $((5 * ${CARET_TORTURE:-1})) ]; do
    CARET_SEED=$seed CARET_YDB_CALLS=2000000 "$CARET_BUILD/test/test_yottadb_model" 2>&1 || exit 1
    seed=$((seed + 1))
done
