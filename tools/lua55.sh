#!/bin/sh
# tools/lua55.sh [BUILD]: Lua 5.5 for the tests, as no distribution has it yet: BUILD/lua55/lua5.5, and the
# module in BUILD/lua/5.5.  BUILD is a build folder with libcaret.a, by default build/.
#
# Its sources are those of the crate lua-src, which cargo fetches from the registry that it is told to use.  Exit
# status 77, and a reason, if that can't be had within half a minute.

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd) || exit 1
interpreter=$build/lua55/lua5.5
place=$build/lua55
sources=$place/vendor/lua-src/lua-5.5.0
compiler=${CC:-cc}

skip()
{
    echo "skipped: $1"
    exit 77
}

fetch()
{
    command -v cargo >/dev/null || skip "cargo is not there, which would fetch the sources of Lua 5.5"
    mkdir -p "$place/src" || exit 1
    printf '[package]\nname = "lua55"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nlua-src = "550"\n' \
        >"$place/Cargo.toml"
    : >"$place/src/lib.rs"
    (cd "$place" && timeout 30 cargo vendor --quiet vendor >cargo.log 2>&1) ||
        skip "the sources of Lua 5.5 can't be fetched: $(tail -n 1 "$place/cargo.log")"
    [ -d "$sources" ] || skip "the crate lua-src has another Lua than 5.5.0 by now"
}

# luaunit is looked for where Debian has it for Lua 5.4.
build_lua()
{
    "$compiler" -O1 -w -DLUA_USE_POSIX -DLUA_USE_DLOPEN "-DLUA_PATH_DEFAULT=\"/usr/share/lua/5.4/?.lua\"" \
        -I"$sources" "$sources"/*.c "$root/test/lua/host.c" -Wl,-E -lm -ldl \
        -o "$interpreter.new" && mv "$interpreter.new" "$interpreter"
}

build_module()
{
    mkdir -p "$build/lua/5.5" &&
        "$compiler" -std=c17 -O1 -fPIC -shared -D_GNU_SOURCE -Wall -Wextra -Werror -I"$root/include" -I"$root/src" -I"$root/front" \
            -isystem "$sources" "$root"/front/lua/*.c "$root"/front/m/*.c "$build/libcaret.a" -lm -pthread -ldl -Wl,-z,nodelete \
            -Wl,--version-script="$root/cmake/luamodule.map" -o "$build/lua/5.5/caret.so" &&
        cp -r "$root/front/lua/caret" "$root"/front/yottadb/lua/* "$build/lua/5.5"
}

[ -d "$sources" ] || fetch
[ -x "$interpreter" ] || build_lua || exit 1
build_module
