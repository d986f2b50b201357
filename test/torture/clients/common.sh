# shellcheck shell=sh disable=SC2034 # what the others use
# Sourced first by every clients/*.sh: a client of Redis, as it comes from its registry, on redis-server and on
# `caret serve` with one, two and four workers, each in a network of its own, at port 6379.
#
#   . "$(dirname "$0")/common.sh"
#   client ioredis node npm              # its name, and the programs that it needs: else skipped, with the reason
#   install() { npm install ...; }       # in its folder, build/clients/ioredis, which stays; once
#   fetch
#   beside "$here/ioredis.mjs" node      # a program of ours: what it prints has to be the same on all of them
#   finish                               # prints the counts
#
# A program has the server's address in $REDIS_URL, prints a line for each thing that it finds out, and ends.

here=$CARET_SOURCE/test/torture/clients
build=$CARET_SOURCE/build

# ------------------------------------------------- one server and one program: common.sh --run WORKERS FOLDER COMMAND...

serve()
{
    case $1 in
    redis) set -- redis-server --port 6379 --save '' --dir "$2" --daemonize no --enable-debug-command yes ;;
    *) set -- "$build/caret-server" "$2/data.caret" --shm-dir "$2" --port 6379 --workers "$1" \
        --enable-debug-command yes ;;
    esac
    "$@" >"$folder/log" 2>&1 &
    pids=$!
    until redis-cli ping >/dev/null 2>&1; do
        kill -0 "$pids" 2>/dev/null || { cat "$folder/log" && exit 1; }
        sleep 0.05
    done
}

if [ "${1:-}" = --run ]; then
    folder=$3
    pids=
    # shellcheck disable=SC2086 # numbers are words
    trap '[ -z "$pids" ] || { kill $pids; wait $pids; } 2>/dev/null' EXIT
    trap 'exit 1' HUP INT TERM
    ip link set lo up || exit 1
    serve "$2" "$3"
    shift 3
    export REDIS_URL=redis://127.0.0.1:6379 REDIS_PORT=6379
    cd "$folder" || exit 1
    timeout "${CARET_PATIENCE:-120}" "$@" &
    program=$!
    pids="$program $pids"
    wait $program
    exit $?
fi

# ------------------------------------------------------------------------------------------------ a client's script

passed=0
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/caret-client-XXXXXX") || exit 1
running=
# shellcheck disable=SC2086 # numbers are words
trap '[ -z "$running" ] || { kill $running; wait $running; } 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

skip()
{
    echo "$name: skipped: $*"
    exit 0
}

client()
{
    name=$1
    cache=$build/clients/$1
    shift
    for program in redis-server redis-cli "$@"; do
        command -v "$program" >/dev/null || skip "$program is not installed"
    done
    unshare -n ip link set lo up 2>"$work/log" || skip "no network of its own: $(tail -n 1 "$work/log")"
    [ -x "$build/caret-server" ] || skip "the server is not built"
}

# Install it where it is not there yet.
fetch()
{
    [ -f "$cache/made" ] && return
    rm -rf "$cache" && mkdir -p "$cache"
    (cd "$cache" && install) >"$work/log" 2>&1 ||
        skip "it can't be fetched: $(grep -iE 'error|could not|unable' "$work/log" | tail -n 1)"
    touch "$cache/made"
}

# run SERVER COMMAND...: its output in $work/SERVER/out; its status
run()
{
    mkdir -p "$work/$1" || exit 1
    server=$1
    shift
    unshare -n sh "$here/common.sh" --run "$server" "$work/$server" "$@" >"$work/$server/out" 2>&1 &
    running=$!
    wait $running
    status=$?
    running=
    return $status
}

# compare SERVER: lines that are the same, and those that are not
compare()
{
    differ=$(diff -a "$work/redis/out" "$work/$1/out" | grep -c '^[<>]')
    diff -a "$work/redis/out" "$work/$1/out" | head -n 20
    same=$(wc -l <"$work/redis/out")
    echo "$name, $1 workers: $((same - (differ < same ? differ : same))) answers as on redis-server, $differ not"
    passed=$((passed + same - (differ < same ? differ : same)))
    failed=$((failed + differ))
}

# beside COMMAND...
beside()
{
    rm -rf "$work/redis"
    if ! run redis "$@"; then
        tail -n 20 "$work/redis/out"
        echo "$name: the program fails on redis-server"
        failed=$((failed + 1))
        return
    fi
    for workers in 1 2 4; do
        rm -rf "${work:?}/$workers"
        if ! run $workers "$@"; then
            tail -n 20 "$work/$workers/out" "$work/$workers/log"
            failed=$((failed + 1))
        fi
        compare $workers
    done
}

finish()
{
    echo "$name: $passed passed, $failed failed"
    [ $failed = 0 ] && [ $passed -gt 0 ]
    exit $?
}
