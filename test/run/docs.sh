#!/bin/sh
# The reference becomes HTML without a warning, with every function in it; lists of names in the documents are those of
# the program; the C examples compile and run.
# So do those in M.
# (What is Lua in the documents is run by test/lua/test_docs.lua.)

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need lua5.4 caret
cd "$dir" || exit 1

# ---- the reference
mkdir reference
lua5.4 "$source/tools/reference.lua" reference >out 2>&1
note $? "tools/reference.lua"
if ! command -v ldoc >/dev/null; then
    skip "ldoc is not there: the reference is not made"
elif ! lua5.1 -e 'require "discount"' 2>/dev/null && ! lua5.2 -e 'require "discount"' 2>/dev/null; then
    skip "lua-discount is not there: ldoc would not write the reference as it should"
else
    (cd reference && ldoc -q . 2>&1 | grep -v '^reading configuration') >out
    [ ! -s out ]
    note $? "ldoc has something to say"
    sed -n 's/^function caret\.\([a-z]*\)(.*/\1/p; s/^function \([A-Z][a-z]*[.:][a-z_]*\)(.*/\1/p' \
        "$source"/front/lua/caret/meta*.lua | while read -r name; do
        grep -q "<a name = \"$name\">" reference/html/index.html || echo "$name is not in the HTML"
    done >out
    [ ! -s out ]
    note $? "every function is in the HTML"
fi

# ---- parameters, commands, errors, methods: what pages name is there, and what is there they name
lua5.4 "$source/test/run/pages.lua" "$source" "$caret" >out 2>&1 && [ "$(wc -l <out)" = 1 ] && [ "$(cat out)" -gt 1200 ]
note $? "names, limits and anchors in the documents are right"

# ---- the C examples, each a program
if [ -e "$build/libcaret.a" ] && ! nm "$build/libcaret.a" 2>/dev/null | grep -q ' U __[at]san_'; then
    for page in README.md docs/migrating/lmdb.md; do
        rm -f example* ./*.caret*
        awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$source/$page" >example.c
        ${CC:-cc} -Wall -Werror -I"$source/include" example.c "$build/libcaret.a" -lm -pthread -o example >out 2>&1
        note $? "the C example of $page compiles"
        ./example >out 2>&1 && grep -qxF -e quercus -e '^words("quercus")' out
        note $? "the C example of $page runs"
    done
else
    skip "a build with sanitizers: the C examples are not linked with it"
fi

# ---- M: README's routine, and those of the page about Lua
if [ -x "$build/caret-m" ]; then
    "$caret" set --db forest.caret '^oaks(1,"shadow")' 16
    awk '/^## Thirty seconds of M/ { here = 1 } here && on && /^```/ { exit } on && !/# a prompt; /
        here && /^```sh$/ { on = 1 }' "$source/README.md" >forest.sh
    PATH="$build:$PATH" sh ./forest.sh >out 2>&1 && [ "$(tr '\n' / <out)" = '1   16/2   22.5/' ]
    note $? "README's routine prints what its database has"
    page=$source/docs/guide/m-and-lua.md
    awk '/^    hello ;$/ { on = 1 } on && !/^    / { exit } on { print substr($0, 5) }' "$page" >hello.m
    { echo 'others ;' && grep '^     [sw]' "$page" | tail -n +4; } >others.m
    CARET_DB=forest.caret "$caret" m -run hello >out 2>&1
    CARET_DB=forest.caret "$caret" m -run others >>out 2>&1
    [ "$(tr '\n' / <out)" = '05/00abab/05/-1Lua: mlua(code):1: no/01/7/' ]
    note $? "M calls Lua and Lua calls M as the page says"
else
    skip "caret m is not built"
fi

finish
