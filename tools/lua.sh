#!/bin/sh
# tools/lua.sh INTERPRETER [ARGUMENT...]
# Runs lua5.5, lua5.4, lua5.3, lua5.2, lua5.1 or luajit with the Caret module of a build on its paths.
# $CARET_BUILD is the build folder, by default build/.

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${CARET_BUILD:-$root/build}" && pwd)
interpreter=${1:?which Lua: lua5.4, lua5.3, lua5.2, lua5.1 or luajit}
shift

version=$("$interpreter" -e 'io.write(_VERSION)')
case $version in
'Lua 5.'[1-5]) folder=$build/lua/${version#Lua } ;;
*)
    echo "$interpreter: neither Lua 5.1 to 5.5 nor LuaJIT" >&2
    exit 1
    ;;
esac
unset LUA_PATH_5_5 LUA_CPATH_5_5 LUA_PATH_5_4 LUA_CPATH_5_4 LUA_PATH_5_3 LUA_CPATH_5_3 LUA_PATH_5_2 LUA_CPATH_5_2
LUA_PATH="$folder/?.lua;$folder/?/init.lua;$root/test/lua/?.lua;;"
LUA_CPATH="$folder/?.so;;"
export LUA_PATH LUA_CPATH
exec "$interpreter" "$@"
