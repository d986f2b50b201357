#!/bin/sh
# M called from C (ydb_ci and the like), Lua and C called from M, and what the M machine needs for that.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need cc
m=$build/caret-m
from=$source/test/m/calls
[ -x "$m" ] && [ -f "$build/caret_m.so" ] || { echo "skipped: caret-m or caret_m.so is not built" && exit 77; }

(cd "$source" && sh tools/api.sh | cmp -s - front/m/api.def)
note $? "front/m/api.def has the functions of caret.h: tools/api.sh makes it"
nm -D --defined-only "$build/caret_m.so" | awk '$3 !~ /^caret_m_start$/ { exit 1 }'
note $? "caret_m.so shows nothing but its door"

cp "$from"/*.m "$from"/*.ci "$from"/*.xc "$dir/"
cd "$dir" || exit 1
export CARET_DB="$dir/calls.caret" CALLS="$dir" CARET_ROUTINES="$dir"
cc -shared -fPIC -o external.so "$from/external.c"
note $? "the package of C functions is built"
ydb_xc_t=calls.xc keep "$m" -run lua^calls
[ -s "$dir/err" ] && note 1 "lua^calls"
cp "$dir/out" printed
ydb_xc_t=calls.xc keep "$m" -run xc^calls
[ -s "$dir/err" ] && note 1 "xc^calls"
cat "$dir/out" >>printed
diff "$from/calls.right" printed >"$dir/out"
note $? "Lua and C are called from M"

printf 'ends write "before",! write $&mlua.lua("os.exit(3)")\n' >ends.m
keep "$m" -run ends
[ $? = 3 ] && [ "$(cat "$dir/out")" = before ]
note $? "what M wrote is written when Lua ends the program"
printf 'full new o write "lost",$&mlua.lua("os.exit(3)",.o) halt\n' >full.m
"$m" -run full >/dev/full 2>"$dir/err"
[ $? = 3 ]
note $? "Lua ends the program also where what M wrote can't be written"

cp "$from/tables.list" "$dir/"
keep "$m" -run tables
[ "$(cat "$dir/out")" = bye ] && [ ! -s "$dir/err" ]
note $? "tables of C functions are told what is wrong with them, and are closed at the end"

cc -o callin "$from/callin.c" -I"$build/yottadb" -L"$build/yottadb" -lyottadb -lpthread
note $? "the program that calls M is built"
ydb_ci=calls.ci ydb_xc_t=calls.xc LD_LIBRARY_PATH=$build/yottadb keep ./callin
status=$?
cat "$dir/out"
[ $status = 0 ] && grep -q ' passed, 0 failed$' "$dir/out" # it got to its end: M has not ended it
note $? "M is called from C"
if [ -x "$build/test/judge" ] && [ -x "$build/test/behaviour_yottadb" ]; then
    ydb_ci=calls.ci BEHAVIOUR_CALLS=put keep "$build/test/judge" "$source"/test/behaviour/*.txt -- \
        "$build/test/behaviour_yottadb"
    note $? "local variables that M keeps are like others"
fi

export CHANGE="LD_LIBRARY_PATH='$build/yottadb' ./callin change"
for lua in lua5.4 luajit; do
    command -v $lua >/dev/null || continue
    keep sh "$source/tools/lua.sh" $lua "$from/host.lua"
    diff "$from/host.right" "$dir/out" >>"$dir/err"
    note $? "M is called from $lua"
done

# By its name alone, found by PATH: that does not tell the folder of caret_m.so.
PATH=$build:$PATH keep caret run "$from/host.lua"
diff "$from/host.right" "$dir/out" >>"$dir/err"
note $? "M is called from caret run"

# A routine that would never end, nor heed a trap, is ended with the program that called it.
printf 'spin ;\n s $et="s ^trapped=1",^spin=1\nturn s x=$g(x)+1 g turn\n' >spin.m
echo 'require("caret").open(os.getenv "CARET_DB"):ci("spin^spin")' >spin.lua
"$caret" run spin.lua >"$dir/out" 2>"$dir/err" &
spinning=$!
soon "$caret" get '^spin'
kill -TERM $spinning
soon test ! -d "/proc/$spinning"
note $? "a routine is ended with the program that called it"
kill -KILL $spinning 2>/dev/null
wait $spinning
[ $? = 143 ] && ! "$caret" get '^trapped' >/dev/null 2>&1
note $? "no trap sees that"

# ask word...: what the server answers, or why not
ask()
{
    (cd "$source/test/server" && luajit - "$dir/socket" "$@") <<'END'
    local c = assert(require("resp").connect(arg[1]))
    local answer = c(unpack(arg, 2))
    print(type(answer) == "table" and answer.error or answer)
END
}

if [ -x "$build/caret-server" ] && command -v luajit >/dev/null; then
    "$build/caret-server" "$dir/served.caret" --port 0 --unix "$dir/socket" >"$dir/out" 2>"$dir/err" &
    server=$!
    soon ask PING # the socket is there before it listens
    [ "$(ask CARET.M '$$tight^calls')" = 12345 ] && [ "$(ask CARET.M put^calls)" = OK ] &&
        [ "$(ask CARET.GET ^put)" = 7 ]
    note $? "the server runs routines"
    ask CARET.M undef^calls | grep -q '%YDB-E-LVUNDEF, Undefined local variable: y'
    note $? "the server tells M's errors"
    kill $server
    wait $server
    CARET_ROUTINES='' ydb_routines='' "$build/caret-server" "$dir/served.caret" --port 0 --unix "$dir/socket2" \
        2>"$dir/err" &
    server=$!
    soon test -S "$dir/socket2"
    mv "$dir/socket2" "$dir/socket"
    soon ask PING
    ask CARET.M put^calls | grep -q 'M is off'
    note $? "without folders of routines it runs none"
    kill $server
    wait $server
fi

# A program with a Lua of its own, whose functions can be seen.
if command -v lua5.4 >/dev/null && cc -rdynamic -o guest -x c - -I/usr/include/lua5.4 -I"$build/yottadb" \
    -L"$build/yottadb" -lyottadb -llua5.4 <<'END' 2>/dev/null; then
#include <lauxlib.h>
#include <lualib.h>
#include <libyottadb.h>
int main(void)
{
    ydb_long_t n = 0;
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    for (int i = 0; i < 100; i++)
        if (luaL_dostring(L, "t = {} for i = 1, 100 do t[i] = tostring(i) end") || ydb_ci("count", &n) != YDB_OK)
            return 1;
    lua_close(L);
    return n < 100;
}
END
    ydb_ci=calls.ci LD_LIBRARY_PATH=$build/yottadb keep ./guest
    note $? "a program with a Lua of its own calls M"
fi
finish
