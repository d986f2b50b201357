#!/bin/sh
# Workers are killed under clients of streams.  Then random commands to a server of one, two and four workers, and to
# redis-server, whose answers are the same.

for workers in 1 2 4; do
    sh "$CARET_SOURCE/test/server/run.sh" "$workers" test_stream_kills.lua $((300 * ${CARET_TORTURE:-1}))
    status=$?
    [ "$status" = 0 ] || exit "$status"
done
for workers in 1 2 4; do
    sh "$CARET_SOURCE/test/server/run.sh" "$workers" differ.lua --beside-redis $((1000 * ${CARET_TORTURE:-1}))
    status=$?
    [ "$status" = 0 ] || exit "$status"
done
