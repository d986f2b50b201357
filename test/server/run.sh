#!/bin/sh
# Run a test of the server: run.sh WORKERS FILE.lua [--beside-redis] [ARGUMENT...]
#
# What stands after "-- options:" in the file, and in $SERVE_OPTIONS, are further options of the server; after
# "-- config:" lines of its redis.conf.
#
# A server with so many workers listens at a unix socket, $SERVE_SOCKET, in a folder of its own; with --beside-redis so
# does redis-server, at $REDIS_SOCKET. Both are ended, by their number, when the test is over. 77: skipped.
set -u
workers=$1
file=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
build=${CARET_BUILD:-$here/../../build}
command -v luajit >/dev/null || { echo "luajit is not installed" && exit 77; }
folder=$(mktemp -d)
pids=
finish()
{
    for pid in $pids; do kill "$pid" 2>/dev/null; done
    for pid in $pids; do wait "$pid" 2>/dev/null; done
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 1' INT TERM
export CARET_ROUTINES="$folder" # of M
export SERVE_SOCKET="$folder/s" REDIS_SOCKET="$folder/r" SERVE_FOLDER="$folder"
if [ "${1:-}" = --beside-redis ]; then
    shift
    command -v redis-server >/dev/null || { echo "redis-server is not installed" && exit 77; }
    redis-server --port 0 --unixsocket "$REDIS_SOCKET" --save '' --dir "$folder" --enable-debug-command yes \
        --proto-max-bulk-len 16mb >"$folder/redis.log" 2>&1 &
    pids="$pids $!"
fi
# What ASan keeps of freed memory, to notice its use, is not the server's.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=8"
sed -n 's/^-- config: //p' "$here/$(basename "$file")" >"$folder/redis.conf" 2>/dev/null
# shellcheck disable=SC2046,SC2086 # options are words
"$build/caret-server" "$folder/data.caret" --config "$folder/redis.conf" --shm-dir "$folder" --port 0 --unix "$SERVE_SOCKET" --workers "$workers" \
    --enable-debug-command local \
    $(sed -n 's/^-- options: //p' "$here/$(basename "$file")" 2>/dev/null) ${SERVE_OPTIONS:-} 2>"$folder/log" &
pids="$pids $!"
SERVE_PID=$!
export SERVE_PID
cd "$here" || exit 1
n=0
until luajit ping.lua "$SERVE_SOCKET" && { [ ! -f "$folder/redis.log" ] || luajit ping.lua "$REDIS_SOCKET"; }; do
    n=$((n + 1))
    [ $n -gt 200 ] && cat "$folder/log" && echo "the server did not start" && exit 1
    sleep 0.05
done
luajit "$file" "$@"
status=$?
[ $status = 0 ] || [ $status = 77 ] || cat "$folder/log"
exit $status
