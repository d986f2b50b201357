#!/bin/sh
# What a database by an address must do like one in a file: the one of CARET_TEST_URL.  Everything in it is killed.
#
#   CARET_TEST_URL=postgresql://... sh test/store/suite.sh [long]       (make test-store: the long form)
#
# The cases of test/behaviour in C, through YottaDB's functions, in Lua and Python (long), the differential of random operations with a file, recorded histories, and
# a dump that is loaded and dumped again, both ways.  Needs a build with tests in build/.

CARET_OWN_MEMORY=1 # it is run within a test that sees to it
# shellcheck source=../run/common.sh
. "$(dirname "$0")/../run/common.sh"
CARET_OWN_MEMORY=
url=${CARET_TEST_URL:?an address is needed}
long=${1:-}
seeds=${long:+1000}
seeds=${seeds:-60}
cases=$source/test/behaviour
export CARET_TEST_UNSUPPORTED="$source/test/store/unsupported.list"

# judged front command...: all cases through that front
judged()
{
    front=$1
    shift
    keep "$build/test/judge" "$cases"/*.txt -- "$@"
    status=$?
    grep -A 3 FAILED "$dir/out" | head -n 40
    count=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' "$dir/out")
    [ $status = 0 ] && [ "${count:-0}" -gt 400 ]
    note $? "cases of test/behaviour in $front: $(tail -n 1 "$dir/out")"
}

judged C "$build/test/behaviour_c"
judged "C through YottaDB's functions" "$build/test/behaviour_yottadb"
if [ -d "$build/lua/5.4" ] && command -v lua5.4 >/dev/null; then
    judged Lua sh "$source/tools/lua.sh" lua5.4 "$cases/run.lua"
fi
if [ -n "$long" ] && PYTHONPATH=$build/python python3 -c 'import caret' 2>/dev/null; then
    judged Python env "PYTHONPATH=$build/python" python3 "$cases/run.py"
fi

# ------------------------------------------------- every command and call

keep sh "$source/test/store/commands.sh"
note $? "every command of the tool works or is UNSUPPORTED: $(tail -n 1 "$dir/out")"
keep "$caret" kill --db "$url" '^commands' # should it have been cut short
if [ -d "$build/lua/5.4" ] && command -v lua5.4 >/dev/null; then
    printf 'hello()\n quit "hello"\n' >"$dir/calls.m"
    CARET_ROUTINES=$dir keep sh "$source/tools/lua.sh" lua5.4 "$source/test/store/calls.lua" "$url" \
        "$CARET_TEST_UNSUPPORTED" "$source/front/lua/caret/meta.lua"
    note $? "so is every function in Lua: $(tail -n 1 "$dir/out")"
fi

# ------------------------------------------------------------ differential

differ() { keep "$build/test/store_differ" "$dir/d.caret" "$url" "$@"; }

keep "$caret" set --db "$dir/d.caret" '^differ(1)' 1
differ 1 20
[ $? = 1 ]
note $? "a difference is found"
keep "$caret" kill --db "$dir/d.caret" '^differ'
keep "$caret" kill --db "$url" '^differ'
differ 1 "$seeds" && grep -q ' alike' "$dir/out"
note $? "random operations on a file and by an address are alike: $(tail -n 1 "$dir/out")"
differ 2000 "${long:+10}4" large
note $? "so they are with values of 16 MiB: $(tail -n 1 "$dir/out")"

# -------------------------------------------------------------------- locks

keep "$build/test/store_locks" "$dir/d.caret" && cp "$dir/out" "$dir/locks" && keep "$build/test/store_locks" "$url" &&
    cmp "$dir/locks" "$dir/out" && [ "$(wc -l <"$dir/locks")" = 202 ] && ! grep -q wrong "$dir/locks"
note $? "locks of two processes, in every order, are alike"

# ---------------------------------------------------------------- histories

CARET_HISTORY=${long:+20} CARET_HISTORY_KILLS=1 keep "$build/test/test_api_history"
note $? "histories are serializable, with processes killed: $(grep histories: "$dir/out" "$dir/err" -h)"
keep "$build/test/store_append" "$url" 4 "${long:+20}000" "${long:+20}2"
note $? "appends: $(grep stored "$dir/out")"

# ------------------------------------------------------------ dump and load

awk 'BEGIN {
    for (i = 1; i < 601; i++) {
        printf "^dump(%s%d.5)=\"%s\"\n", i % 2 ? "-" : "", i, i
        printf "^dump(\"s%d\",$C(0,%d,255),\"\")=\"a \"\"word\"\"\"_$C(%d,10)\n", i % 7, i % 256, i % 256
    }
    for (i = 0; i < 14; i++)
        long = long "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    printf "^dump(\"%s\",1)=\"\"\n^other=\"%s\"\n", long, long long long
}' >"$dir/nodes"
keep "$caret" load --db "$dir/f.caret" "$dir/nodes"
keep "$caret" kill --db "$url" '^dump' '^other'
for format in zwr jsonl; do
    keep "$caret" dump --db "$dir/f.caret" -f $format -o "$dir/file.$format" '^dump' '^other'
    keep "$caret" load --db "$url" "$dir/file.$format"
    keep "$caret" dump --db "$url" -f $format -o "$dir/url.$format" '^dump' '^other'
    rm -f "$dir/g.caret"*
    keep "$caret" load --db "$dir/g.caret" "$dir/url.$format"
    keep "$caret" dump --db "$dir/g.caret" -f $format -o "$dir/again.$format" '^dump' '^other'
    [ "$(wc -l <"$dir/file.$format")" -ge 1200 ] && tail -n +3 "$dir/file.$format" >"$dir/1" &&
        tail -n +3 "$dir/url.$format" >"$dir/2" && tail -n +3 "$dir/again.$format" >"$dir/3" &&
        cmp "$dir/1" "$dir/2" && cmp "$dir/1" "$dir/3"
    note $? "dump, load, dump are equal to the byte, there and back: $format"
    keep "$caret" kill --db "$url" '^dump' '^other'
done

finish
