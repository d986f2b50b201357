#!/bin/sh
# Workers of the server are killed 100,000 times under all kinds of writes: test_kills.lua says what is checked, after
# each half dozen of kills. Each run has a server and a seed of its own.

kills=2000
runs=$((50 * ${CARET_TORTURE:-1}))
killed=0
if ! { cd "$CARET_SOURCE" && cmake --preset release && cmake --build build --target caret_server; } >/dev/null; then
    exit 1
fi
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for seed in $(seq "$runs"); do
    for workers in 1 2 4; do
        n=$((workers == 4 ? kills / 2 : kills / 4))
        if ! CARET_BUILD="$CARET_SOURCE/build" \
            sh "$CARET_SOURCE/test/server/run.sh" "$workers" test_kills.lua "$n" "$seed" >"$log" 2>&1; then
            cat "$log"
            exit 1
        fi
        killed=$((killed + $(sed -n 's/^\([0-9]*\) kills:.*/\1/p' "$log")))
    done
done
echo "$killed kills"
