#!/bin/sh
# bench/resp.sh [-b BUILD] [-r ROUNDS] [-s SHARE] [--json] [ROW...]: the server beside redis-server, and beside
# valkey-server where that is installed.  Servers take turns; what counts is processor time of the server per request.
# bench/resp.lua has the rows and their bars; docs/benchmark.md says how to read the table.
#
#   -r 5       rounds, of which medians are told
#   -s 1       share of the requests: 0.1 for a first look
#   ROW        rows whose name begins so: `get`, `eval`; all if none is given
#
# Each server listens at a port of loopback, from $RESP_PORT (17500) on, with its data in a folder that is removed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
while [ $# -gt 1 ] && [ "$1" = -b ]; do
    build=$2
    shift 2
done
for program in redis-server redis-benchmark redis-cli lua5.4; do
    command -v $program >/dev/null || { echo "$program is not installed: nothing is measured" && exit 0; }
done
[ -x "$build/caret-server" ] || { echo "$build/caret-server is not built" && exit 1; }
folder=$(mktemp -d)
pids=''
finish()
{
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    for pid in $pids; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 1' INT TERM

port=${RESP_PORT:-17500}
servers=''
started() # its name
{
    pids="$pids $!"
    servers="$servers $1:$port:$!"
    tries=0
    until [ "$(redis-cli -p $port ping 2>/dev/null)" = PONG ]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || { echo "$1 does not answer at port $port" && cat "$folder/$1.log" && exit 1; }
        sleep 0.05
    done
    port=$((port + 1))
}
plain() # a server with the options of redis-server
{
    mkdir "$folder/$1"
    "$1-server" --port $port --save '' --appendonly no --dir "$folder/$1" >"$folder/$1.log" 2>&1 &
    started "$1"
}
ours() # workers
{
    mkdir "$folder/caret$1"
    "$build/caret-server" "$folder/caret$1/data.caret" --shm-dir "$folder/caret$1" --port $port --workers "$1" \
        >"$folder/caret$1.log" 2>&1 &
    started "caret$1"
}

plain redis
if command -v valkey-server >/dev/null; then plain valkey; fi
ours 1
ours 2
lua5.4 "$here/resp.lua" "$folder" "$servers" "$@"
