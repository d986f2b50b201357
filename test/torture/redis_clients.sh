#!/bin/sh
# Clients of Redis as they come from their registries, each by a script of clients/: on redis-server, and on servers
# with one, two and four workers, whose answers have to be the same.  What is fetched stays in build/clients/; what
# can't be fetched is skipped, with the reason.  The release build is used.
#
#   CARET_CLIENTS="ioredis go" are only these

passed=0
failed=0
bad=0
log=$(mktemp "${TMPDIR:-/tmp}/caret-clients-XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT
trap 'exit 1' HUP INT TERM
if ! { cd "$CARET_SOURCE" && cmake --preset release && cmake --build build --target caret_server; } >"$log" 2>&1; then
    tail -n 20 "$log"
    exit 1
fi
for script in "$CARET_SOURCE"/test/torture/clients/*.sh; do
    name=$(basename "$script" .sh)
    case $name in
    common | *_program) continue ;;
    esac
    case " ${CARET_CLIENTS:-$name} " in
    *" $name "*) ;;
    *) continue ;;
    esac
    sh "$script" >"$log" 2>&1 || bad=1
    cat "$log"
    count=$(tail -n 1 "$log" | sed -n "s/^[^:]*: \([0-9]* passed, [0-9]*\) failed$/\1/p")
    [ -n "$count" ] || continue
    passed=$((passed + ${count%% *}))
    failed=$((failed + ${count##* }))
done
echo "$passed passed, $failed failed"
[ $bad = 0 ] && [ "$failed" = 0 ]
