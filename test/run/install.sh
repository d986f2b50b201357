#!/bin/sh
# Every way to have Caret: installed below a prefix, as two files, as a rock.  Each is used by a program.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
cd "$dir" || exit 1

cat >program.c <<'END'
#include <stdio.h>
#include <string.h>
#include <caret.h>
int main(int argc, char **argv)
{
    caret_db *db;
    caret_session *s;
    caret_node_buf n;
    caret_slice v;
    if (argc < 2 || caret_open(argv[1], NULL, &db) || caret_session_open(db, &s) ||
        caret_node_var(&n.node, sizeof n, "^oaks", 5) || caret_node_child_int(&n.node, sizeof n, &n.node, 1) ||
        caret_set(s, &n.node, "10", 2) || caret_get(s, &n.node, &v)) {
        fprintf(stderr, "%s\n", caret_message());
        return 1;
    }
    int bad = v.len != 2 || memcmp(v.data, "10", 2) != 0;
    caret_session_close(s);
    return caret_close(db) || bad;
}
END
cat >program.lua <<'END'
local caret = require "caret"
local db = assert(caret.open(arg[1]))
local oaks = db.node("^oaks")
oaks[2].shadow.__ = 20
assert(oaks[2].shadow.__ == "20")
assert(select(2, pcall(function() return oaks.x.y.z:nonsense() end)):find("program.lua:6", 1, true))
assert(db:close())
END

# ---- two files
lua5.4 "$source/tools/amalgamate.lua" "$dir" >out 2>&1
note $? "tools/amalgamate.lua"
lua5.4 "$source/tools/amalgamate.lua" "$dir/new folder/it's" >out 2>&1 && [ -s "$dir/new folder/it's/caret.c" ]
note $? "into a folder that is not there yet"
! lua5.4 "$source/tools/amalgamate.lua" "$dir/caret.c/x" >out 2>&1 && ! grep -q traceback out
note $? "into one that can't be made"
optimised=-O1
[ "${CARET_TEST-}" = whole ] && optimised=-O3 # inlines most, and so sees most, in twice the time
${CC:-cc} $optimised -Wall -Wextra -Werror -c caret.c >out 2>&1
note $? "caret.c compiles without a warning"
if command -v clang >/dev/null; then
    clang -Wall -Wextra -Werror -fsyntax-only caret.c >out 2>&1
    note $? "and with clang"
fi
${CC:-cc} -I. -o two program.c caret.o -pthread -lm >out 2>&1 && ./two two.caret >out 2>&1
note $? "a program with caret.c runs"
${CC:-cc} -O0 -shared -fPIC -o two.so caret.c -pthread -lm >out 2>&1 &&
    [ -z "$(nm -D --defined-only two.so | awk '$3 !~ /^caret_[a-z]/')" ]
note $? "caret.c shows nothing but the public names"

# ---- and the Lua modules as a third
cat >embed.c <<'END'
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
int luaopen_caret(lua_State *L), luaopen_yottadb(lua_State *L);
int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "preload");
    lua_pushcfunction(L, luaopen_caret);
    lua_setfield(L, -2, "caret");
    lua_pushcfunction(L, luaopen_yottadb);
    lua_setfield(L, -2, "yottadb");
    lua_newtable(L);
    lua_pushstring(L, argv[argc - 1]);
    lua_rawseti(L, -2, 1);
    lua_setglobal(L, "arg");
    int bad = luaL_loadfile(L, argv[1]) != 0 || lua_pcall(L, 0, 0, 0) != 0;
    if (bad)
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_close(L);
    return bad;
}
END
cat >embedded.lua <<'END'
package.path, package.cpath = "", ""
dofile "program.lua"
local ydb = require "yottadb"
ydb.set("$ZGBLDIR", arg[1])
assert(ydb.get("^oaks", 2, "shadow") == "20")
local ok, text = pcall(function() ydb.node("^oaks"):settree(5) end)
assert(not ok and text:find("embedded.lua:6", 1, true), text)
END
for v in 5.4 5.1; do
    if [ ! -e "/usr/include/lua$v/lua.h" ]; then
        skip "Lua $v's headers are not there: caret_lua.c is not compiled for it"
        continue
    fi
    ${CC:-cc} -O0 -Wall -Wextra -Werror "-I/usr/include/lua$v" -c caret_lua.c >out 2>&1
    note $? "caret_lua.c compiles for Lua $v without a warning"
    ${CC:-cc} "-I/usr/include/lua$v" embed.c caret.o caret_lua.o "-llua$v" -pthread -lm -ldl -o embed >out 2>&1 &&
        ./embed embedded.lua "embed$v.caret" >out 2>&1
    note $? "a program with Lua $v and Caret inside runs"
done
[ -z "$(nm --defined-only caret_lua.o | awk '$2 == "T" && $3 !~ /^(caret__|caret_m__|luaopen_(caret|caret_core|yottadb)$)/')" ]
note $? "caret_lua.c has no other names"

# ---- below a prefix
if [ -e "$build/libcaret.a" ] && ! nm "$build/libcaret.a" 2>/dev/null | grep -q ' U __[at]san_'; then
    DESTDIR=$dir/stage cmake --install "$build" --prefix /opt/caret >out 2>&1
    note $? "cmake --install"
    [ -n "$(find "$dir/stage" -path "*man1/caret.1")" ] && [ -n "$(find "$dir/stage" -name _caret)" ]
    note $? "man page and completions are installed"
    at=$dir/stage/opt/caret
    flags="-I$at/include -L$(dirname "$(find "$at" -name libcaret.a)")"
    if command -v pkg-config >/dev/null; then
        pc=$(dirname "$(find "$at" -name caret.pc)")
        flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs caret)
        yottadb=$(dirname "$(find "$at" -name yottadb.pc)")
        [ "$(PKG_CONFIG_PATH=$yottadb pkg-config --cflags yottadb | xargs)" = "-I$yottadb" ] &&
            [ -f "$yottadb/libyottadb.so" ] && [ -f "$yottadb/gparam_list.h" ]
        note $? "yottadb.pc tells where it was installed"
    else
        skip "pkg-config is not there: its file is not tried"
        flags="$flags -lcaret"
    fi
    # shellcheck disable=SC2086
    ${CC:-cc} -o three program.c $flags >out 2>&1 &&
        LD_LIBRARY_PATH=$(dirname "$(find "$at" -name libcaret.so)") ./three three.caret >out 2>&1
    note $? "a program with the installed library runs"
    for lua in lua5.4 lua5.1 luajit; do
        v=${lua#lua}
        [ $lua = luajit ] && v=5.1
        if command -v $lua >/dev/null && [ -d "$at/lib/lua/$v" ]; then
            LUA_PATH="$at/share/lua/$v/?.lua;$at/share/lua/$v/?/init.lua" LUA_CPATH="$at/lib/lua/$v/?.so" \
                $lua program.lua three.caret >out 2>&1
            note $? "the module installed for $lua runs"
        else
            skip "$lua or its module is not there"
        fi
    done
else
    skip "a build with sanitizers is not installed"
fi

# ---- a rock
if command -v luarocks >/dev/null; then
    mkdir rock && cp -r "$source/src" "$source/front" "$source/include" "$source/LICENSE" "$source/caret-scm-1.rockspec" rock
    (cd rock && luarocks --lua-version 5.4 --tree "$dir/tree" make --deps-mode none caret-scm-1.rockspec \
        CFLAGS="-O0 -fPIC") \
        >out 2>&1
    note $? "luarocks make"
    LUA_PATH="$dir/tree/share/lua/5.4/?.lua;$dir/tree/share/lua/5.4/?/init.lua" \
        LUA_CPATH="$dir/tree/lib/lua/5.4/?.so" lua5.4 program.lua rock.caret >out 2>&1
    note $? "the rock runs"
else
    skip "luarocks is not there: the rock is not built"
fi

finish
