#!/bin/sh
# front/server/codec and front/server/script beside a real redis-server: values of HyperLogLog byte for byte, numbers,
# patterns, positions, pieces, fields, and the modules of scripts.  test/server/codec_compare.lua has the cases.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need redis-server lua5.1 redis-cli
if [ ! -e "$build/test/codec.so" ]; then
    echo "skipped: the headers of Lua 5.1 or LuaJIT are missing, the modules of scripts are not built"
    exit 77
elif ! lua5.1 -e 'require "redis"; require "socket.unix"' 2>/dev/null; then
    echo "skipped: lua-redis for Lua 5.1 is missing (make deps installs it)"
    exit 77
fi
version=$(redis-server --version | sed -n 's/.* v=\([0-9.]*\).*/\1/p')
case $version in
7.0.*) ;;
*)
    echo "skipped: redis-server is $version; what is compared is what 7.0 does"
    exit 77
    ;;
esac

redis-server --port 0 --unixsocket "$dir/redis" --save '' --dir "$dir" >"$dir/redis.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$dir"' EXIT
soon redis-cli -s "$dir/redis" ping || exit 1 # the socket is there before it listens

LUA_CPATH="$build/test/?.so;;" lua5.1 "$source/test/server/codec_compare.lua" "$dir/redis" "${CARET_COMPARE:-0.4}" >"$dir/out"
note $? "what redis-server $version does: $(tail -n 1 "$dir/out")"
[ "$failed" = 0 ] || cat "$dir/out"
if command -v luajit >/dev/null; then
    LUA_CPATH="$build/test/?.so;;" luajit "$source/test/server/codec_compare.lua" "$dir/redis" "${CARET_COMPARE:-0.4}" scripts >"$dir/out"
    note $? "the modules of scripts in LuaJIT: $(tail -n 1 "$dir/out")"
    [ "$failed" = 0 ] || cat "$dir/out"
fi
kill "$server"
wait "$server"
finish
