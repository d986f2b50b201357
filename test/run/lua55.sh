#!/bin/sh
# Every Lua test, and test/behaviour, on Lua 5.5, which tools/lua55.sh fetches and builds; the binding compiles for it without a warning.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

sh "$source/tools/lua55.sh" "$build" >"$dir/out" 2>"$dir/err"
status=$?
if [ "$status" -eq 77 ]; then
    cat "$dir/out"
    exit 77
fi
note "$status" "Lua 5.5 and the binding for it are built"

for file in "$source"/test/lua/test_*.lua; do
    topic=$(basename "$file" .lua)
    keep sh "$source/tools/lua.sh" "$build/lua55/lua5.5" "$file"
    note $? "${topic#test_}"
done
keep "$build/test/judge" "$source"/test/behaviour/*.txt -- \
    sh "$source/tools/lua.sh" "$build/lua55/lua5.5" "$source/test/behaviour/run.lua"
note $? "behaviour"
finish
